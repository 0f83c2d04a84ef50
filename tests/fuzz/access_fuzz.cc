// Any bytes as an access file: refused, or an address and a token that can be used and that are the same once written
// again.
#include "common/base/assert.h"
#include "common/os/file.h"
#include "common/text/access.h"
#include "common/text/text.h"
#include "tests/fuzz/fuzz.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace gt;
  const std::string path = fuzz::Scratch() + "/access";
  GT_ASSERT(WriteFile(path, {reinterpret_cast<const char*>(data), size}, 0600).ok());
  Result<Access> access = ReadAccess(path);
  if (!access.ok()) return 0;
  GT_ASSERT(!access->address.empty() && IsPrintable(access->address));
  GT_ASSERT(!access->token.empty() && access->token.find_first_of(" \t\r\n") == std::string::npos);
  GT_ASSERT(IsUtf8(access->cluster_id));
  GT_ASSERT(WriteAccess(path, *access).ok());
  Result<Access> again = ReadAccess(path);
  GT_ASSERT(again.ok() && again->address == access->address && again->token == access->token);
  GT_ASSERT(again->cluster_id == access->cluster_id && again->protocol == access->protocol);
  return 0;
}
