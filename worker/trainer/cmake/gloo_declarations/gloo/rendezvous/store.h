#pragma once
#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

namespace gloo {
constexpr std::chrono::milliseconds kNoTimeout = std::chrono::milliseconds(-1);
}
namespace gloo::rendezvous {
class Store {
 public:
  virtual ~Store();
  virtual void set(const std::string&, const std::vector<char>&) = 0;
  virtual std::vector<char> get(const std::string&) = 0;
  virtual void wait(const std::vector<std::string>&) = 0;
  virtual void wait(const std::vector<std::string>&, const std::chrono::milliseconds&) = 0;
  virtual bool has_v2_extended_api();
  virtual std::vector<std::vector<char>> multi_get(const std::vector<std::string>&);
  virtual void multi_set(const std::vector<std::string>&, const std::vector<std::vector<char>>&);
  virtual void append(const std::string&, const std::vector<char>&);
  virtual int64_t add(const std::string&, int64_t);
};
}  // namespace gloo::rendezvous
