// Fields of rows that no query looks into: lists and maps in one blob. Integers are 8 bytes, little end first; strings are a
// 4-byte length and the bytes. Reading is checked: a short or overlong blob says so instead of running off its end.
#pragma once
#include <deque>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "coordinator/core/history.h"
#include "coordinator/core/model.h"

namespace gt::pack {

std::string Strings(const std::vector<std::string>& list);          // empty list: empty blob, for each of these
bool ReadStrings(std::string_view blob, std::vector<std::string>* list);
std::string Times(const std::deque<Millis>& list);
bool ReadTimes(std::string_view blob, std::deque<Millis>* list);
std::string Numbers(const std::vector<Generation>& list);
bool ReadNumbers(std::string_view blob, std::vector<Generation>* list);
std::string Numbers(const std::vector<NodeId>& list);
bool ReadNumbers(std::string_view blob, std::vector<NodeId>* list);
std::string OfProgress(const Progress& progress);
bool ReadProgress(std::string_view blob, Progress* progress);
std::string OfInventory(const Inventory& inventory);
bool ReadInventory(std::string_view blob, Inventory* inventory);
// Lines of one job; the job itself is not in it. Appended one by one.
void AppendLine(const HistoryLine& line, std::string* blob);
bool ReadLines(std::string_view blob, std::vector<HistoryLine>* lines);
std::string OfUid(const Uid& uid);                                  // 16 bytes, big end first
bool ReadUid(std::string_view blob, Uid* uid);

}  // namespace gt::pack
