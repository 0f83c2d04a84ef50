#include <gtest/gtest.h>

#include "common/base/ids.h"
#include "common/base/units.h"

namespace gt {
namespace {

TEST(Units, DurationsAreReadAndWrittenExactly) {
  for (auto [text, value] : {std::pair{"15m", 15 * kMinute}, {"1h30m", 90 * kMinute}, {"250ms", Millis{250}}, {"2d", 48 * kHour}}) {
    ASSERT_TRUE(ParseDuration(text).ok()) << text;
    EXPECT_EQ(*ParseDuration(text), value);
    EXPECT_EQ(FormatDuration(value), text);
  }
  EXPECT_EQ(*ParseDuration("0"), 0);
}

TEST(Units, ADurationWithoutUnitOrWithPartsOutOfOrderIsRefused) {
  for (const char* text : {"15", "", "m", "-5m", "30m1h", "5 m", "1.5h", "99999999999999999d", "1m1m"})
    EXPECT_FALSE(ParseDuration(text).ok()) << text;
}

TEST(Units, SizesKnowPowersOfTwoAndOfTen) {
  EXPECT_EQ(*ParseBytes("40GiB"), 40ll << 30);
  EXPECT_EQ(*ParseBytes("40GB"), 40000000000);
  EXPECT_EQ(FormatBytes(2ll << 30), "2GiB");
  EXPECT_EQ(HumanBytes(3ll << 29), "1.5GiB");
  for (const char* text : {"40", "GiB", "1GiB2", "-1GiB", "4gib"}) EXPECT_FALSE(ParseBytes(text).ok()) << text;
}

TEST(Units, NearestNamesATypoAndNothingFarAway) {
  std::vector<std::string> keys = {"epochs", "optimizer", "precision"};
  EXPECT_EQ(Nearest("epoch", keys), "epochs");
  EXPECT_EQ(Nearest("optimiser", keys), "optimizer");
  EXPECT_EQ(Nearest("zzz", keys), "");
}

TEST(Ids, AUidSurvivesItsTextAndNothingElseIsOne) {
  Uid uid{0x0123456789abcdef, 0xfedcba9876543210};
  EXPECT_EQ(ToHex(uid), "0123456789abcdeffedcba9876543210");
  EXPECT_EQ(UidFromHex(ToHex(uid)), uid);
  EXPECT_FALSE(UidFromHex("0123").has_value());
  EXPECT_FALSE(UidFromHex("0123456789abcdeffedcba987654321g").has_value());
}

TEST(Ids, TasksAreTypedAsPeopleTypeThem) {
  EXPECT_EQ(ParseTaskSelector("42")->job, JobId{42});
  EXPECT_EQ(ParseTaskSelector("42_7")->index, 7u);
  for (const char* text : {"", "0", "x", "42_", "42_x", "-1", "42_7_1"}) EXPECT_FALSE(ParseTaskSelector(text)) << text;
}

}  // namespace
}  // namespace gt
