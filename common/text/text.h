// Text that came from anywhere, made safe and measured for people's screens. Pure; any thread.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "common/base/time.h"

namespace gt {

// Whether all of `bytes` is well-formed UTF-8 (no overlong forms, no surrogates, nothing above U+10FFFF).
bool IsUtf8(std::string_view bytes);

// `bytes` as one line that can do no harm on a terminal: controls become \n, \t, \e or \x1b-like escapes, a backslash
// stays itself, invalid UTF-8 becomes \xNN, direction overrides and other invisible formatters \u{202e}.
// Readable text, emoji too, stays as it is.
std::string Printable(std::string_view bytes);
// True where Printable() would change nothing.
bool IsPrintable(std::string_view bytes);
// What a node may be called: 1 to 100 printable bytes.
bool IsNodeName(std::string_view name);

// Columns that `text` takes on a terminal: 2 for wide characters, 0 for combining ones.
size_t DisplayWidth(std::string_view text);
// The longest front of `text` that takes at most `columns`; never cuts inside a character.
std::string_view FitColumns(std::string_view text, size_t columns);

// UTC since 1970 as RFC 3339 with milliseconds: "2026-03-01T10:20:30.123Z".
std::string FormatTime(Millis utc);

}  // namespace gt
