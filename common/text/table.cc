#include "common/text/table.h"

#include <algorithm>

#include "common/base/assert.h"
#include "common/text/text.h"

namespace gt {
namespace {

constexpr size_t kGap = 2;
constexpr size_t kLeastWidth = 6;  // no column is squeezed below this

std::string Cut(const std::string& text, size_t width) {
  if (DisplayWidth(text) <= width) return text;
  return std::string(FitColumns(text, width - 1)) + "+";
}

std::string Pad(const std::string& text, size_t width, Align align, Colour colour, bool on) {
  size_t taken = DisplayWidth(text);
  std::string space(taken < width ? width - taken : 0, ' ');
  return align == Align::kRight ? space + Paint(text, colour, on) : Paint(text, colour, on) + space;
}

}  // namespace

std::string Paint(std::string_view text, Colour colour, bool on) {
  const char* code = "";
  switch (colour) {
    case Colour::kPlain:
      return std::string(text);
    case Colour::kRed:
      code = "\x1b[31m";
      break;
    case Colour::kGreen:
      code = "\x1b[32m";
      break;
    case Colour::kYellow:
      code = "\x1b[33m";
      break;
    case Colour::kDim:
      code = "\x1b[2m";
      break;
  }
  return on ? code + std::string(text) + "\x1b[0m" : std::string(text);
}

void Table::Add(std::vector<std::string> cells, Colour colour) {
  GT_ASSERT(cells.size() == columns_.size());
  for (std::string& cell : cells) cell = cell.empty() ? "-" : Printable(cell);
  rows_.push_back({std::move(cells), colour});
}

std::vector<size_t> Table::Widths(const TableStyle& style) const {
  std::vector<size_t> widths;
  for (size_t c = 0; c < columns_.size(); ++c) {
    size_t width = DisplayWidth(columns_[c].header);
    for (const Row& row : rows_) {
      size_t cell = DisplayWidth(row.cells[c]);
      if (style.terminal && columns_[c].max_width > 0) cell = std::min(cell, columns_[c].max_width);
      width = std::max(width, cell);
    }
    widths.push_back(width);
  }
  if (!style.terminal || style.columns == 0) return widths;
  size_t total = kGap * (widths.size() - 1);
  for (size_t width : widths) total += width;
  for (size_t c = columns_.size(); c-- > 0 && total > style.columns;) {
    if (columns_[c].max_width == 0 || widths[c] <= kLeastWidth) continue;
    size_t least = std::max(kLeastWidth, DisplayWidth(columns_[c].header));
    size_t narrower = std::max(least, widths[c] - std::min(widths[c], total - style.columns));
    if (narrower >= widths[c]) continue;
    total -= widths[c] - narrower;
    widths[c] = narrower;
  }
  return widths;
}

std::string Table::Render(const TableStyle& style, size_t painted) const {
  std::vector<size_t> widths = Widths(style);
  std::string out;
  auto line = [&](const std::vector<std::string>& cells, Colour colour, size_t which) {
    std::string text;
    for (size_t c = 0; c < cells.size(); ++c) {
      std::string cell = style.terminal ? Cut(cells[c], widths[c]) : cells[c];
      bool last = c + 1 == cells.size();
      size_t width = last && columns_[c].align == Align::kLeft ? 0 : widths[c];
      text += Pad(cell, width, columns_[c].align, c == which ? colour : Colour::kPlain, style.colour);
      if (!last) text += std::string(kGap, ' ');
    }
    out += text + "\n";
  };
  std::vector<std::string> headers;
  for (const Column& column : columns_) headers.push_back(column.header);
  line(headers, Colour::kPlain, SIZE_MAX);
  for (const Row& row : rows_) line(row.cells, row.colour, painted);
  return out;
}

}  // namespace gt
