// Philox4x32-10 against Random123 (the authors' own code), stream keys, and the exact corners of
// distributions.
#include "models/random.h"

#include <Random123/philox.h>
#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <set>

#undef philox4x32  // Random123 defines it as a macro

using namespace plateau;

TEST_CASE("Philox4x32-10 equals Random123 on 10,000 counters and keys") {
  Random source = RandomStream(7, "test/philox").at(0);
  r123::Philox4x32_R<10> oracle;
  for (int i = 0; i < 10000; ++i) {
    const PhiloxCounter counter = {source.u32(), source.u32(), source.u32(), source.u32()};
    const PhiloxKey key = {source.u32(), source.u32()};
    const auto want =
        oracle({{counter[0], counter[1], counter[2], counter[3]}}, {{key[0], key[1]}});
    const PhiloxCounter got = philox4x32(counter, key);
    REQUIRE(got == PhiloxCounter{want[0], want[1], want[2], want[3]});
  }
}

TEST_CASE("Philox4x32-10 gives the published known answers") {
  // Random123's kat_vectors: zero and all-ones input.
  CHECK(philox4x32({0, 0, 0, 0}, {0, 0}) ==
        PhiloxCounter{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8});
  const std::uint32_t ones = 0xffffffff;
  CHECK(philox4x32({ones, ones, ones, ones}, {ones, ones}) ==
        PhiloxCounter{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd});
}

TEST_CASE("FNV-1a gives the published values") {
  CHECK(fnv1a("") == 0xcbf29ce484222325u);
  CHECK(fnv1a("a") == 0xaf63dc4c8601ec8cu);
  CHECK(fnv1a("foobar") == 0x85944171f73967e8u);
}

TEST_CASE("a draw depends only on seed, stream, replica, index and draw") {
  const RandomStream stream(1, "lengths");
  Random first = stream.at(3, 2);
  first.u64();
  const std::uint64_t second = first.u64();
  stream.at(4, 2).u64();  // other draws change nothing
  Random again = RandomStream(1, "lengths").at(3, 2);
  again.u64();
  CHECK(again.u64() == second);
}

TEST_CASE("every coordinate of a random stream matters") {
  std::set<std::uint64_t> seen;
  const auto draw = [&seen](std::uint64_t seed, const char* name, std::uint64_t index,
                            std::uint32_t replica) {
    seen.insert(RandomStream(seed, name).at(index, replica).u64());
  };
  draw(1, "arrivals", 0, 0);
  draw(2, "arrivals", 0, 0);
  draw(std::uint64_t{1} << 40, "arrivals", 0, 0);
  draw(1, "lengths", 0, 0);
  draw(1, "arrivals", 1, 0);
  draw(1, "arrivals", std::uint64_t{1} << 32, 0);
  draw(1, "arrivals", 0, 1);
  CHECK(seen.size() == 7);
}

TEST_CASE("uniform doubles stay inside their interval") {
  Random random = RandomStream(1, "test/interval").at(0);
  for (int i = 0; i < 100000; ++i) {
    const double half_open = random.uniform();
    const double open = random.uniform_open();
    REQUIRE(half_open >= 0);
    REQUIRE(half_open < 1);
    REQUIRE(open > 0);
    REQUIRE(open < 1);
  }
}

TEST_CASE("uniform integers cover one value, both ends and the whole range") {
  Random random = RandomStream(1, "test/ends").at(0);
  CHECK(uniform_int(random, 5, 5) == 5);
  std::set<std::int64_t> seen;
  for (int i = 0; i < 200; ++i) {
    seen.insert(uniform_int(random, -1, 2));
  }
  CHECK(seen == std::set<std::int64_t>{-1, 0, 1, 2});
  const std::int64_t least = std::numeric_limits<std::int64_t>::min();
  const std::int64_t most = std::numeric_limits<std::int64_t>::max();
  CHECK(uniform_int(random, least, most) != uniform_int(random, least, most));
}

TEST_CASE("the logarithm of a factorial equals lgamma") {
  for (std::int64_t n : {0, 1, 2, 15, 16, 17, 100, 4096, 1000000}) {
    CHECK(log_factorial(n) ==
          doctest::Approx(std::lgamma(static_cast<double>(n) + 1)).epsilon(1e-12));
  }
}

TEST_CASE("degenerate distributions give their only value") {
  Random random = RandomStream(1, "test/degenerate").at(0);
  CHECK(binomial(random, 10, 0) == 0);
  CHECK(binomial(random, 10, 1) == 10);
  CHECK(binomial(random, 10, 1.0000001) == 10);
  CHECK(binomial(random, 0, 0.5) == 0);
  CHECK(poisson(random, 0) == 0);
  CHECK(multinomial(random, 7, {0, 2, 0}) == std::vector<std::int64_t>{0, 7, 0});
  CHECK(multinomial(random, 7, {}).empty());
}

TEST_CASE("multinomial counts add up and shuffles are permutations") {
  Random random = RandomStream(1, "test/sums").at(0);
  for (int i = 0; i < 100; ++i) {
    const auto counts = multinomial(random, 1000, {0.1, 3, 0, 1e-9, 0.7});
    CHECK(counts[0] + counts[1] + counts[2] + counts[3] + counts[4] == 1000);
    CHECK(counts[2] == 0);
  }
  std::vector<int> items = {1, 2, 3, 4, 5, 6};
  shuffle(random, items);
  CHECK(std::set<int>(items.begin(), items.end()) == std::set<int>{1, 2, 3, 4, 5, 6});
}
