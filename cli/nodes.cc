// gtctl nodes: the machines, and taking them out of service.
#include "cli/commands.h"
#include "cli/render.h"
#include "common/base/units.h"
#include "common/text/text.h"

namespace gt {
namespace {

using namespace gridtrain::v1;

std::string ShownNodeState(const NodeSummary& node) {
  if (node.draining()) return node.state() + (node.attempts() == 0 ? " drained" : " draining");
  // Connected, but it has not told yet what it holds, or still stops old work.
  return node.state() + (node.schedulable() || node.state() != "UP" ? "" : " joining");
}

Colour NodeColour(const NodeSummary& node) {
  if (node.state() == "LOST") return Colour::kRed;
  if (node.state() != "UP" || node.draining() || node.has_out_of_service()) return Colour::kYellow;
  return Colour::kGreen;
}

Json NodeJson(const NodeSummary& node) {
  Json gpus = Json::array(), labels = Json::object();
  for (const GpuInfo& gpu : node.gpus())
    gpus.push_back({{"uuid", Printable(gpu.uuid())}, {"model", Printable(gpu.model())}, {"memory", gpu.memory()}});
  std::map<std::string, std::string> sorted(node.labels().begin(), node.labels().end());
  for (const auto& [key, value] : sorted) labels[Printable(key)] = Printable(value);
  auto text = [](bool known, const std::string& value) { return known ? Json(Printable(value)) : Json(); };
  return {{"name", Printable(node.name())},
          {"state", Printable(node.state())},
          {"schedulable", node.schedulable()},
          {"draining", node.draining()},
          {"drain_reason", text(node.draining(), node.drain_reason())},
          {"cpus", node.cpus()},
          {"cpus_free", node.cpus_free()},
          {"memory", node.memory()},
          {"memory_free", node.memory_free()},
          {"gpus", gpus},
          {"gpus_free", node.gpus_free()},
          {"attempts", node.attempts()},
          {"last_heard", TimeJson(node.has_last_heard_ms(), node.last_heard_ms())},
          {"address", text(node.has_address(), node.address())},
          {"version", text(node.has_version(), node.version())},
          {"containment", text(node.has_containment(), node.containment())},
          {"labels", labels},
          {"out_of_service", text(node.has_out_of_service(), node.out_of_service())}};
}

std::string GpuModel(const NodeSummary& node) { return node.gpus_size() == 0 ? "" : node.gpus(0).model(); }

std::string NodeTable(const std::vector<NodeSummary>& nodes, bool wide, const TableStyle& style) {
  constexpr size_t kStateColumn = 1;
  std::vector<Column> columns = {{"NAME", Align::kLeft, 40}, {"STATE"},
                                 {"CPUS", Align::kRight},    {"MEMORY", Align::kRight},
                                 {"GPUS", Align::kRight},    {"MODEL", Align::kLeft, 30},
                                 {"TASKS", Align::kRight},   {"HEARD", Align::kRight},
                                 {"NOTE", Align::kLeft, 60}};
  if (wide) columns.insert(columns.end(), {{"ADDRESS"}, {"VERSION"}, {"CONTAINMENT"}});
  Table table(columns);
  for (const NodeSummary& node : nodes) {
    std::string note = node.has_out_of_service() ? node.out_of_service() : node.drain_reason();
    std::vector<std::string> cells = {
        node.name(),
        ShownNodeState(node),
        std::to_string(node.cpus_free()) + "/" + std::to_string(node.cpus()),
        HumanBytes(node.memory_free()) + "/" + HumanBytes(node.memory()),
        std::to_string(node.gpus_free()) + "/" + std::to_string(node.gpus_size()),
        GpuModel(node),
        std::to_string(node.attempts()),
        node.has_last_heard_ms() ? HumanDuration(std::max<Millis>(WallMillis() - node.last_heard_ms(), 0)) : "",
        note};
    if (wide) cells.insert(cells.end(), {node.address(), node.version(), node.containment()});
    table.Add(std::move(cells), NodeColour(node));
  }
  return table.Render(style, kStateColumn);
}

class NodesCommand : public CommandBody {
 public:
  void Declare(Args* args) override {
    args->Words("WHAT", &words_, 0, 2, "list, drain NAME or undrain NAME; default: list");
    args->Text("--reason", &reason_, "TEXT", "why it is drained, for everybody to see");
  }

  int Run(Session* session) override {
    std::string what = words_.empty() ? "list" : words_[0];
    if (what == "list" && words_.size() < 2) return List(session);
    if ((what == "drain" || what == "undrain") && words_.size() == 2) return Drain(session, words_[1], what == "drain");
    return session->Usage("nodes takes list, drain NAME or undrain NAME", "gtctl nodes --help");
  }

 private:
  static void Show(Session* session, const std::vector<NodeSummary>& nodes) {
    Json list = Json::array();
    for (const NodeSummary& node : nodes) list.push_back(NodeJson(node));
    if (session->output() == Output::kJsonLines) {
      for (const Json& node : list) session->Print(node);
    } else if (session->json()) {
      session->Print({{"schema_version", kSchemaVersion}, {"nodes", list}});
    } else if (session->quiet() || session->output() == Output::kName) {
      for (const NodeSummary& node : nodes) session->Out(Printable(node.name()) + "\n");
    } else {
      session->Out(NodeTable(nodes, session->output() == Output::kWide, session->style()));
    }
  }

  static int List(Session* session) {
    Result<Client*> client = session->client();
    if (!client.ok()) return session->Fail(client.status());
    ListNodesResponse response;
    if (Status status = (*client)->ListNodes(&response); !status.ok()) return session->Fail(status);
    Show(session, {response.nodes().begin(), response.nodes().end()});
    if (response.nodes_size() == 0)
      session->Note("no worker has registered yet; start gt-worker on a machine that has the access file");
    return kExitOk;
  }

  int Drain(Session* session, const std::string& name, bool drain) const {
    if (drain && !reason_)
      return session->Usage("drain needs --reason, so that others know why",
                            "gtctl nodes drain " + Printable(name) + " --reason \"new disk\"");
    Result<Client*> client = session->client();
    if (!client.ok()) return session->Fail(client.status());
    DrainNodeRequest request;
    request.set_node(name);
    request.set_drain(drain);
    if (reason_) request.set_reason(*reason_);
    request.set_actor(session->UserName());
    DrainNodeResponse response;
    if (Status status = (*client)->DrainNode(request, &response); !status.ok())
      return session->Fail(status, status.code() == Code::kNotFound ? "gtctl nodes lists them" : "");
    if (session->quiet()) return kExitOk;
    Show(session, {response.node()});
    if (drain && response.node().attempts() > 0)
      session->Note("what runs there runs on to its end; nothing new starts");
    return kExitOk;
  }

  std::vector<std::string> words_;
  std::optional<std::string> reason_;
};

}  // namespace

std::unique_ptr<CommandBody> MakeNodes() { return std::make_unique<NodesCommand>(); }

}  // namespace gt
