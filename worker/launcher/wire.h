// Little-endian binary encoding of plain structs, shared by the protocol and the journal. A struct lists its fields once:
//   template <typename Archive> void Fields(Archive& a) { a(uid); a(argv); }
// and is written by Writer and read by Reader. Strings and vectors carry a u32 length. Reader never reads past its input:
// the first thing that does not fit makes ok() false and every later field stays as it was.
#pragma once
#include <cstring>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "common/base/ids.h"

namespace gt::launcher {

template <typename T>
concept Number = std::is_integral_v<T> || std::is_enum_v<T>;

class Writer {
 public:
  explicit Writer(std::string* out) : out_(out) {}
  template <typename... T>
  void operator()(const T&... values) { (Put(values), ...); }

 private:
  template <Number T>
  void Put(const T& value) { out_->append(reinterpret_cast<const char*>(&value), sizeof value); }
  void Put(const std::string& text) {
    Put(static_cast<uint32_t>(text.size()));
    out_->append(text);
  }
  void Put(const Uid& uid) { (*this)(uid.high, uid.low); }
  template <typename Tag, typename Rep>
  void Put(const Id<Tag, Rep>& id) { Put(id.value); }
  template <typename A, typename B>
  void Put(const std::pair<A, B>& pair) { (*this)(pair.first, pair.second); }
  template <typename T>
  void Put(const std::vector<T>& values) {
    Put(static_cast<uint32_t>(values.size()));
    for (const T& value : values) Put(value);
  }
  template <typename T>
    requires requires(T t, Writer& w) { t.Fields(w); }
  void Put(const T& value) { const_cast<T&>(value).Fields(*this); }

  std::string* out_;
};

class Reader {
 public:
  explicit Reader(std::string_view in) : in_(in) {}
  bool ok() const { return ok_; }
  template <typename... T>
  void operator()(T&... values) { (Get(values), ...); }

 private:
  bool Take(void* to, size_t size) {
    if (!ok_ || in_.size() < size) return ok_ = false;
    std::memcpy(to, in_.data(), size);
    in_.remove_prefix(size);
    return true;
  }
  template <Number T>
  void Get(T& value) {
    if constexpr (std::is_same_v<T, bool>) {
      uint8_t byte = 0;
      if (Take(&byte, 1)) value = byte != 0;
    } else {
      Take(&value, sizeof value);
    }
  }
  void Get(std::string& text) {
    uint32_t size = 0;
    if (!Take(&size, sizeof size) || in_.size() < size) return static_cast<void>(ok_ = false);
    text.assign(in_.substr(0, size));
    in_.remove_prefix(size);
  }
  void Get(Uid& uid) { (*this)(uid.high, uid.low); }
  template <typename Tag, typename Rep>
  void Get(Id<Tag, Rep>& id) { Get(id.value); }
  template <typename A, typename B>
  void Get(std::pair<A, B>& pair) { (*this)(pair.first, pair.second); }
  template <typename T>
  void Get(std::vector<T>& values) {
    uint32_t size = 0;
    values.clear();
    // Every element takes at least a byte, so a size that lies cannot make us allocate much.
    if (!Take(&size, sizeof size) || in_.size() < size) return static_cast<void>(ok_ = false);
    for (uint32_t i = 0; i < size && ok_; ++i) Get(values.emplace_back());
  }
  template <typename T>
    requires requires(T t, Reader& r) { t.Fields(r); }
  void Get(T& value) { value.Fields(*this); }

  std::string_view in_;
  bool ok_ = true;
};

}  // namespace gt::launcher
