// Tables for people: upper-case headers, two-space gaps, no borders. Pure.
#pragma once
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace gt {

enum class Align { kLeft, kRight };

// A colour of the 16 that every terminal has; kPlain prints none.
enum class Colour { kPlain, kRed, kGreen, kYellow, kDim };

struct Column {
  std::string header;
  Align align = Align::kLeft;
  size_t max_width = 0;  // on a terminal longer cells are cut and end in "+"; 0: never cut
};

struct TableStyle {
  bool terminal = false;  // cutting is for terminals only: what is piped is whole
  bool colour = false;
  size_t columns = 0;  // of the terminal; 0: unknown. The last column that may be cut gives way first
};

class Table {
 public:
  explicit Table(std::vector<Column> columns) : columns_(std::move(columns)) {}

  // One cell a column, of any bytes: they are made printable here, and an empty one shows as "-".
  void Add(std::vector<std::string> cells, Colour colour = Colour::kPlain);
  size_t rows() const { return rows_.size(); }

  // Header and rows, each line with its end; no spaces at the ends of lines. `colour` of a row paints its cell in
  // `painted`.
  std::string Render(const TableStyle& style, size_t painted = SIZE_MAX) const;

 private:
  struct Row {
    std::vector<std::string> cells;
    Colour colour;
  };
  std::vector<size_t> Widths(const TableStyle& style) const;

  std::vector<Column> columns_;
  std::vector<Row> rows_;
};

// `text` in `colour`, or as it is when `on` is false.
std::string Paint(std::string_view text, Colour colour, bool on);

}  // namespace gt
