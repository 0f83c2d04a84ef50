#include <gtest/gtest.h>

#include "common/text/table.h"

namespace gt {
namespace {

Table Example() {
  Table table({{"ID", Align::kRight}, {"NAME", Align::kLeft, 12}, {"REASON", Align::kLeft, 30}});
  table.Add({"42", "漢字", "waits for 2 GPUs"}, Colour::kYellow);
  table.Add({"7", "a\nname that is long", ""});
  return table;
}

TEST(Table, PipedTablesAreWholeAndHaveNoTrailingSpaces) {
  EXPECT_EQ(Example().Render({}),
            "ID  NAME                  REASON\n"
            "42  漢字                  waits for 2 GPUs\n"
            " 7  a\\nname that is long  -\n");
}

TEST(Table, OnATerminalLongCellsAreCutWithAPlus) {
  EXPECT_EQ(Example().Render({.terminal = true}),
            "ID  NAME          REASON\n"
            "42  漢字          waits for 2 GPUs\n"
            " 7  a\\nname tha+  -\n");
}

TEST(Table, TheLastColumnGivesWayOnANarrowTerminal) {
  EXPECT_EQ(Example().Render({.terminal = true, .columns = 26}),
            "ID  NAME          REASON\n"
            "42  漢字          waits f+\n"
            " 7  a\\nname tha+  -\n");
}

TEST(Table, ColourPaintsOneCellAndTakesNoColumns) {
  EXPECT_EQ(Example().Render({.colour = true}, 1),
            "ID  NAME                  REASON\n"
            "42  \x1b[33m漢字\x1b[0m                  waits for 2 GPUs\n"
            " 7  a\\nname that is long  -\n");
}

TEST(Table, WithoutRowsOnlyTheHeaderIsShown) { EXPECT_EQ(Table({{"ID"}, {"NAME"}}).Render({}), "ID  NAME\n"); }

}  // namespace
}  // namespace gt
