#include "common/text/text.h"

#include <gtest/gtest.h>

namespace gt {
namespace {

using namespace std::string_literals;

TEST(Text, PrintableKeepsWhatPeopleCanReadAndEscapesTheRest) {
  EXPECT_EQ(Printable("plain, ünï 漢字 👩‍🚀"), "plain, ünï 漢字 👩‍🚀");
  EXPECT_EQ(Printable("a\nb\tc\rd"), "a\\nb\\tc\\rd");
  EXPECT_EQ(Printable("\x1b[31mred"), "\\e[31mred");
  EXPECT_EQ(Printable("zero\0byte\x07"s), "zero\\x00byte\\x07");
  EXPECT_EQ(Printable("right\xE2\x80\xAEleft"), "right\\u{202e}left");
  EXPECT_EQ(Printable("c1\xC2\x9B"), "c1\\x9b");
}

TEST(Text, BytesThatAreNotUtf8AreShownOneByOne) {
  EXPECT_EQ(Printable("\xff\xfe"), "\\xff\\xfe");
  EXPECT_EQ(Printable("cut \xE6\xBC"), "cut \\xe6\\xbc");
  EXPECT_EQ(Printable("overlong \xC0\xAF"), "overlong \\xc0\\xaf");
}

TEST(Text, Utf8IsCheckedStrictly) {
  for (const char* good : {"", "abc", "ü", "漢", "😀", "\xF4\x8F\xBF\xBF"}) EXPECT_TRUE(IsUtf8(good)) << good;
  for (const char* bad :
       {"\x80", "\xC0\x80", "\xED\xA0\x80", "\xF4\x90\x80\x80", "\xE2\x82", "\xF5\x80\x80\x80", "\xE0\x80\x80"})
    EXPECT_FALSE(IsUtf8(bad)) << Printable(bad);
  EXPECT_FALSE(IsPrintable("a\nb"));
  EXPECT_FALSE(IsPrintable("\xff"));
  EXPECT_TRUE(IsPrintable("漢 ok"));
}

TEST(Text, WidthCountsColumnsNotBytes) {
  EXPECT_EQ(DisplayWidth("abc"), 3u);
  EXPECT_EQ(DisplayWidth("漢字"), 4u);
  EXPECT_EQ(DisplayWidth("e\xCC\x81"), 1u);
  EXPECT_EQ(FitColumns("漢字x", 3), "漢");
  EXPECT_EQ(FitColumns("abc", 9), "abc");
}

TEST(Text, TimesAreRfc3339InUtc) {
  EXPECT_EQ(FormatTime(0), "1970-01-01T00:00:00.000Z");
  EXPECT_EQ(FormatTime(1772360430123), "2026-03-01T10:20:30.123Z");
  EXPECT_EQ(FormatTime(-1), "1969-12-31T23:59:59.999Z");
}

}  // namespace
}  // namespace gt
