#include "common/text/text.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <ctime>
#include <iterator>

namespace gt {
namespace {

struct Decoded {
  char32_t point;
  size_t bytes;
};  // bytes == 0: not UTF-8 here

Decoded DecodeOne(std::string_view s) {
  auto at = [&](size_t i) { return i < s.size() ? static_cast<unsigned char>(s[i]) : 0u; };
  unsigned lead = at(0);
  if (lead < 0x80) return {lead, 1};
  size_t size = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : 2;
  if (lead < 0xC2 || lead > 0xF4) return {0, 0};
  char32_t point = lead & (0x7Fu >> size);
  for (size_t i = 1; i < size; ++i) {
    if ((at(i) & 0xC0) != 0x80) return {0, 0};
    point = point << 6 | (at(i) & 0x3F);
  }
  bool overlong = (size == 3 && point < 0x800) || (size == 4 && point < 0x10000);
  bool surrogate = point >= 0xD800 && point <= 0xDFFF;
  return overlong || surrogate || point > 0x10FFFF ? Decoded{0, 0} : Decoded{point, size};
}

struct Span {
  char32_t first, last;
};
template <size_t N>
bool In(const std::array<Span, N>& spans, char32_t point) {
  return std::any_of(spans.begin(), spans.end(), [&](Span s) { return point >= s.first && point <= s.last; });
}

// Shown as nothing, or changing how what follows is shown. The joiner U+200D stays: emoji are made with it.
constexpr std::array<Span, 8> kInvisible = {{{0x7F, 0x9F},
                                             {0xAD, 0xAD},
                                             {0x200B, 0x200C},
                                             {0x200E, 0x200F},
                                             {0x2028, 0x202E},
                                             {0x2060, 0x206F},
                                             {0xFEFF, 0xFEFF},
                                             {0xE0000, 0xE0FFF}}};
constexpr std::array<Span, 8> kZeroWidth = {{{0x300, 0x36F},
                                             {0x483, 0x489},
                                             {0x591, 0x5BD},
                                             {0x610, 0x61A},
                                             {0x64B, 0x65F},
                                             {0x200D, 0x200D},
                                             {0x20D0, 0x20FF},
                                             {0xFE00, 0xFE0F}}};
constexpr std::array<Span, 11> kWide = {{{0x1100, 0x115F},
                                         {0x2E80, 0x303E},
                                         {0x3041, 0xA4CF},
                                         {0xAC00, 0xD7A3},
                                         {0xF900, 0xFAFF},
                                         {0xFE30, 0xFE6F},
                                         {0xFF00, 0xFF60},
                                         {0xFFE0, 0xFFE6},
                                         {0x1F300, 0x1F64F},
                                         {0x1F680, 0x1FAFF},
                                         {0x20000, 0x3FFFD}}};

bool Harmless(char32_t point) { return point >= 0x20 && !In(kInvisible, point); }

void AppendEscape(std::string* out, char32_t point) {
  char text[16];
  switch (point) {
    case '\n':
      *out += "\\n";
      return;
    case '\t':
      *out += "\\t";
      return;
    case '\r':
      *out += "\\r";
      return;
    case 0x1B:
      *out += "\\e";
      return;
    default:
      break;
  }
  std::snprintf(text, sizeof text, point < 0x100 ? "\\x%02x" : "\\u{%x}", static_cast<unsigned>(point));
  *out += text;
}

size_t WidthOf(char32_t point) {
  if (point < 0x20 || In(kZeroWidth, point)) return 0;
  return In(kWide, point) ? 2 : 1;
}

}  // namespace

bool IsUtf8(std::string_view bytes) {
  while (!bytes.empty()) {
    size_t size = DecodeOne(bytes).bytes;
    if (size == 0) return false;
    bytes.remove_prefix(size);
  }
  return true;
}

bool IsNodeName(std::string_view name) { return !name.empty() && name.size() <= 100 && IsPrintable(name); }

bool IsPrintable(std::string_view bytes) {
  while (!bytes.empty()) {
    Decoded one = DecodeOne(bytes);
    if (one.bytes == 0 || !Harmless(one.point)) return false;
    bytes.remove_prefix(one.bytes);
  }
  return true;
}

std::string Printable(std::string_view bytes) {
  std::string out;
  out.reserve(bytes.size());
  while (!bytes.empty()) {
    Decoded one = DecodeOne(bytes);
    if (one.bytes == 0)
      AppendEscape(&out, static_cast<unsigned char>(bytes[0]));
    else if (Harmless(one.point))
      out += bytes.substr(0, one.bytes);
    else
      AppendEscape(&out, one.point);
    bytes.remove_prefix(std::max<size_t>(one.bytes, 1));
  }
  return out;
}

size_t DisplayWidth(std::string_view text) {
  size_t width = 0;
  while (!text.empty()) {
    Decoded one = DecodeOne(text);
    width += one.bytes == 0 ? 1 : WidthOf(one.point);
    text.remove_prefix(std::max<size_t>(one.bytes, 1));
  }
  return width;
}

std::string_view FitColumns(std::string_view text, size_t columns) {
  size_t taken = 0, width = 0;
  while (taken < text.size()) {
    Decoded one = DecodeOne(text.substr(taken));
    width += one.bytes == 0 ? 1 : WidthOf(one.point);
    if (width > columns) break;
    taken += std::max<size_t>(one.bytes, 1);
  }
  return text.substr(0, taken);
}

std::string FormatTime(Millis utc) {
  Millis seconds = utc / 1000, rest = utc % 1000;
  if (rest < 0) rest += 1000, seconds -= 1;
  std::time_t time = static_cast<std::time_t>(seconds);
  std::tm parts = {};
  gmtime_r(&time, &parts);
  char text[48];
  size_t size = std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%S", &parts);
  std::snprintf(text + size, sizeof text - size, ".%03dZ", static_cast<int>(rest));
  return text;
}

}  // namespace gt
