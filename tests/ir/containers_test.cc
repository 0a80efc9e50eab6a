// The containers that ops and values are made of, beside those of the standard library.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include "support/chunked_vector.h"
#include "support/inline_vector.h"
#include "support/scoped_table.h"

namespace spmd::testing {
namespace {

using Short = InlineVector<int, 3>;

std::vector<int> as_vector(const Short& list) { return list; }

// One random change of both lists.
void change_both(std::mt19937& random, Short& list, std::vector<int>& wanted) {
  const auto draw = [&](size_t count) { return count == 0 ? 0 : random() % count; };
  const int value = static_cast<int>(draw(100));
  const auto at = static_cast<std::ptrdiff_t>(draw(wanted.size() + 1));
  const std::vector<int> more(draw(5), value);
  switch (draw(7)) {
    case 0:
      list.push_back(value);
      wanted.push_back(value);
      break;
    case 1:
      list.insert(list.begin() + at, value);
      wanted.insert(wanted.begin() + at, value);
      break;
    case 2:
      list.insert(list.begin() + at, more.begin(), more.end());
      wanted.insert(wanted.begin() + at, more.begin(), more.end());
      break;
    case 3:
      list.erase(list.begin() + at, list.end());
      wanted.erase(wanted.begin() + at, wanted.end());
      break;
    case 4:
      if (!wanted.empty()) {
        list.erase(list.begin());
        wanted.erase(wanted.begin());
      }
      break;
    case 5:
      list.resize(static_cast<size_t>(at) + 1, value);
      wanted.resize(static_cast<size_t>(at) + 1, value);
      break;
    default:
      list.assign(more.begin(), more.end());
      wanted.assign(more.begin(), more.end());
  }
}

TEST(InlineVector, ChangesAsAVectorDoes) {
  std::mt19937 random(1);
  Short list;
  std::vector<int> wanted;
  for (int i = 0; i < 5000; ++i) {
    change_both(random, list, wanted);
    ASSERT_EQ(as_vector(list), wanted) << "after " << i + 1 << " changes";
    ASSERT_GE(list.capacity(), list.size());
  }
}

// Of lists in the object and on the heap, to both.
TEST(InlineVector, IsCopiedAndMoved) {
  for (const std::vector<int>& from : {std::vector<int>{}, {1, 2, 3}, {1, 2, 3, 4, 5}}) {
    for (const std::vector<int>& to : {std::vector<int>{}, {7}, {7, 8, 9, 10}}) {
      Short source(from), copied(to), moved(to);
      copied = source;
      EXPECT_EQ(as_vector(copied), from);
      EXPECT_EQ(as_vector(source), from);
      moved = std::move(source);
      EXPECT_EQ(as_vector(moved), from);
      EXPECT_EQ(moved, copied);
      copied.push_back(11);
      EXPECT_EQ(as_vector(moved), from) << "lists share nothing";
    }
  }
}

TEST(InlineVector, IsOrderedAsAVectorIs) {
  EXPECT_LT(Short({1, 2}), Short({1, 3}));
  EXPECT_LT(Short({1, 2}), Short({1, 2, 0}));
  EXPECT_NE(Short({1, 2}), Short({1, 2, 0}));
}

TEST(ChunkedVector, EntriesStayWhereTheyAre) {
  ChunkedVector<std::string> table;
  std::vector<const std::string*> places;
  for (int i = 0; i < 1000; ++i) places.push_back(&table.emplace_back(std::to_string(i)));
  ASSERT_EQ(table.size(), 1000U);
  for (size_t i = 0; i < places.size(); ++i) {
    EXPECT_EQ(&table[i], places[i]);
    EXPECT_EQ(table[i], std::to_string(i));
  }
}

// A copy can grow without moving its entries either.
TEST(ChunkedVector, IsCopied) {
  ChunkedVector<int> table;
  for (int i = 0; i < 70; ++i) table.push_back(i);
  ChunkedVector<int> copied = table;
  const int* const last = &copied[69];
  for (int i = 70; i < 128; ++i) copied.push_back(i);
  EXPECT_EQ(&copied[69], last);
  EXPECT_EQ(table.size(), 70U);
  for (size_t i = 0; i < copied.size(); ++i) EXPECT_EQ(copied[i], static_cast<int>(i));
  const ChunkedVector<int> moved = std::move(copied);
  EXPECT_EQ(moved.size(), 128U);
  EXPECT_EQ(copied.size(), 0U);  // NOLINT(bugprone-use-after-move): what is left is empty
}

// Scopes that begin and end, of names with few different hashes.
TEST(ScopedTable, FindsWhatItsScopesHold) {
  std::mt19937 random(2);
  ScopedTable<int> table;
  std::vector<int> wanted;
  std::vector<size_t> scopes;
  for (int i = 0; i < 5000; ++i) {
    const int value = static_cast<int>(random() % 300);
    const size_t hash = static_cast<size_t>(value) % 7;
    const auto* found = table.find(hash, [&](int other) { return other == value; });
    const bool is_known = std::find(wanted.begin(), wanted.end(), value) != wanted.end();
    ASSERT_EQ(found != nullptr, is_known) << "step " << i;
    if (!is_known) {
      table.push(hash, value);
      wanted.push_back(value);
    }
    if (random() % 20 == 0) scopes.push_back(wanted.size());
    if (random() % 30 == 0 && !scopes.empty()) {
      table.shrink(scopes.back());
      wanted.resize(std::min(wanted.size(), scopes.back()));
      scopes.pop_back();
    }
    ASSERT_EQ(table.size(), wanted.size());
  }
}

}  // namespace
}  // namespace spmd::testing
