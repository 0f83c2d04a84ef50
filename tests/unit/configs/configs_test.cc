// Every file that users start from is read by the reader that their own files meet.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <regex>

#include "common/os/file.h"
#include "common/text/job_check.h"
#include "common/text/message_text.h"
#include "common/text/yaml_message.h"
#include "gridtrain/v1/config.pb.h"

namespace gt {
namespace {

using namespace gridtrain::v1;

std::string Text(const std::string& name) {
  auto text = ReadFile(std::string(GT_CONFIGS) + "/" + name);
  EXPECT_TRUE(text.ok()) << name;
  return text.ok() ? *text : "";
}

template <typename Message>
Message Read(const std::string& text, const std::string& name) {
  Message message;
  MessageReader reader(&message);
  reader.ReadText(text, name);
  reader.Finish();
  EXPECT_TRUE(reader.ok()) << reader.status().message();
  return message;
}

// The file with its settings switched on: "# key: value" and what is indented below it.
std::string Uncommented(const std::string& text) {
  return std::regex_replace(text, std::regex("(^|\n)# (( *- | *)(\\{|[a-z_]+:(?=[ \n]|$)))"), "$1$2");
}

template <typename Message>
void ExpectShowsEveryDefault(const std::string& name) {
  EXPECT_EQ(Dump(ToJson(Read<Message>(Text(name), name), {.defaults = false})), "{}")
      << "the file as it is changes nothing";
  std::string text = Uncommented(Text(name));
  Message all = Read<Message>(text, name);
  const auto& type = *Message::descriptor();
  const auto& reflection = *all.GetReflection();
  for (int i = 0; i < type.field_count(); ++i) {
    const auto& field = *type.field(i);
    bool present = field.is_repeated() ? reflection.FieldSize(all, &field) > 0 : reflection.HasField(all, &field);
    EXPECT_TRUE(present) << name << " does not show " << field.name();
    if (!present || !field.has_default_value()) continue;
    Message defaults;
    EXPECT_EQ(ToJson(all)[field.name()], ToJson(defaults)[field.name()])
        << name << " shows another default for " << field.name();
  }
}

TEST(Configs, TheCoordinatorsFileShowsEverySettingWithItsDefault) {
  ExpectShowsEveryDefault<CoordinatorConfig>("coordinator.yaml");
}
TEST(Configs, TheWorkersFileShowsEverySettingWithItsDefault) { ExpectShowsEveryDefault<WorkerConfig>("worker.yaml"); }

TEST(Configs, EveryExampleJobIsGood) {
  auto names = ListDirectory(std::string(GT_CONFIGS) + "/jobs");
  ASSERT_TRUE(names.ok());
  EXPECT_THAT(*names, testing::IsSupersetOf({"array.yaml", "command.yaml", "gang.yaml", "mnist.yaml"}));
  for (const std::string& name : *names) {
    JobSpec spec = Read<JobSpec>(Text("jobs/" + name), name);
    for (const FieldProblem& problem : CheckJob(spec))
      ADD_FAILURE() << name << ": " << problem.path << ": " << problem.message;
  }
}

TEST(Configs, TheMnistExampleIsTheSizeThatTheReadmeSays) {
  JobSpec spec = Read<JobSpec>(Text("jobs/mnist.yaml"), "mnist.yaml");
  EXPECT_EQ(ShapeOf(spec).world_size, 2);
  EXPECT_EQ(spec.train().model().name(), "simple_cnn");
  EXPECT_EQ(spec.train().batch_size(), 64);
  EXPECT_EQ(spec.train().data().path(), "../data/mnist");
}

}  // namespace
}  // namespace gt
