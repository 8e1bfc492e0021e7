#include "lists/table.hpp"

#include <gemwright/errors.hpp>

#include <gtest/gtest.h>

namespace gemwright::lists {
namespace {

std::string refusal(const std::string& text) {
  try {
    from_table(text, {});
  } catch (const InvalidArgument& error) {
    return error.what();
  }
  return "taken";
}

TEST(Table, ReadsCsv) {
  const auto entries = from_table(
      "# shapes of mine\n"
      "m, n, k, dtype, role, layout, bias, batch, count\r\n"
      "16, 4096, 1024, f16, mine, linear, , , 3\r\n"
      "\n"
      "7, 32, 64, , , mm, column, 4,\n",
      {});
  ASSERT_EQ(entries.size(), 2U);
  EXPECT_EQ(entries[0].problem, Problem::linear(16, 4096, 1024, DataType::f16));
  EXPECT_EQ(entries[0].role, "mine");
  EXPECT_EQ(entries[0].count, 3);
  Problem batched = Problem::bmm(4, 7, 32, 64, DataType::bf16);
  batched.bias = Bias::per_column;
  batched.bias_type = DataType::bf16;
  EXPECT_EQ(entries[1].problem, batched);
}

TEST(Table, ReadsJson) {
  const Problem problem = Problem::mm(3, 5, 7, DataType::f32);
  const auto entries = from_table(
      R"([{"m": 16, "n": 32, "k": 64, "dtype": "torch.float32", "model": "x"},
          ")" +
          key(problem) + R"(", {"problem": ")" + key(problem) + R"(", "role": "r"}])",
      {});
  ASSERT_EQ(entries.size(), 2U);
  EXPECT_EQ(entries[0].problem, Problem::linear(16, 32, 64, DataType::f32));
  EXPECT_EQ(entries[1].problem, problem);
  EXPECT_EQ(entries[1].role, "r");
}

TEST(Table, ReadsLowBitWeightsAndActivations) {
  const auto entries =
      from_table("m,n,k,format,activations\n16,64,32,nf4,\n16,64,32,int4,int8\n16,64,32,,\n", {});
  ASSERT_EQ(entries.size(), 3U);
  const auto low_bit = [](const char* format) {
    return Problem::linear(16, 64, 32, DataType::bf16, parse_weight_format(format));
  };
  EXPECT_EQ(entries[0].problem, low_bit("nf4"));
  Problem rounded = low_bit("int4");
  rounded.activations = Activations::int8;
  EXPECT_EQ(entries[1].problem, rounded);
  EXPECT_EQ(entries[2].problem, Problem::linear(16, 64, 32, DataType::bf16));
  const std::string head = "m,n,k,format,activations,layout,batch\n1,2,3,";
  EXPECT_EQ(refusal(head + "nf5\n").rfind("line 2: format: given nf5", 0), 0U);
  EXPECT_EQ(refusal(head + "nf4,int4\n"),
            "line 2: activations: given int4; allowed: as_given, e4m3 or int8");
  EXPECT_EQ(refusal(head + ",int8\n").rfind("line 2: problem", 0), 0U);
  EXPECT_EQ(refusal(head + "nf4,,mm\n").rfind("line 2: layout: given mm", 0), 0U);
  EXPECT_EQ(refusal(head + "nf4,,,2\n").rfind("line 2: batch: given 2", 0), 0U);
}

TEST(Table, ReadsQuotedCellsOfCsv) {
  const auto entries = from_table(
      "role,\"n\", k\r\n"
      "\"q, k\",2,3\r\n"
      " \"a \"\"quoted\"\" one\" , \"5\",7\n"
      "\"two\nlines\",8,9\n"
      "\"\",11,13",
      {});
  ASSERT_EQ(entries.size(), 4U);
  EXPECT_EQ(entries[0].role, "q, k");
  EXPECT_EQ(entries[0].problem, Problem::linear(1, 2, 3, DataType::bf16));
  EXPECT_EQ(entries[1].role, "a \"quoted\" one");
  EXPECT_EQ(entries[1].problem.n, 5);
  EXPECT_EQ(entries[2].role, "two\nlines");
  EXPECT_EQ(entries[3].role, "");
  EXPECT_EQ(entries[3].problem.k, 13);
  EXPECT_EQ(refusal("role,n,k\n\"a\nb\",2,3\nc,x,3\n").rfind("line 4: n: given x", 0), 0U);
  EXPECT_EQ(refusal("role,n,k\n\"q, k,2,3\n"),
            "line 2: given a quote that does not end; allowed: quotes in pairs");
  EXPECT_EQ(refusal("role,n,k\n\"q\"k,2,3\n"),
            "line 2: given k behind a quoted cell; allowed: a comma");
}

TEST(Table, TakesMFromTheOptionsWhenItHasNone) {
  Options options;
  options.m = {1, 2, 3};
  EXPECT_EQ(from_table("n,k\n32,64\n", options).size(), 3U);
}

TEST(Table, RefusesOptionsThatNoRowReads) {
  Options options;
  options.m_given = true;
  options.type = DataType::f32;
  EXPECT_EQ(from_table("m,n,k,dtype\n1,32,64,bf16\n,32,64,\n", options).size(), 2U);
  EXPECT_THROW(from_table("m,n,k\n1,32,64\n", options), InvalidArgument);
  EXPECT_THROW(from_table("n,k,dtype\n32,64,bf16\n", options), InvalidArgument);
}

TEST(Table, PassesOverAMarkOfUtf8) {
  EXPECT_EQ(from_table("\xEF\xBB\xBFm,n,k\n1,2,3\n", {}).size(), 1U);
  EXPECT_EQ(from_table("\xEF\xBB\xBF[{\"m\":1,\"n\":2,\"k\":3}]", {}).size(), 1U);
}

TEST(Table, NumbersBeyondAnyTypeNameTheirField) {
  const std::string digits(309, '9');
  EXPECT_EQ(refusal("m,n,k\n1,2," + digits + "\n").rfind("line 2: k: given 99", 0), 0U);
  const std::string json = refusal("[{\"m\": 1, \"n\": 2, \"k\": " + digits + "}]");
  EXPECT_EQ(json.rfind("list: k: given ", 0), 0U) << json;
  EXPECT_LT(json.size(), 200U);
}

TEST(Table, RefusesWithThePlace) {
  EXPECT_EQ(refusal("m,n,k\n1,x,3\n"),
            "line 2: n: given x; allowed: a whole number from 0 to 2147483648");
  EXPECT_EQ(refusal("m,n,k\n1,2\n"),
            "line 2: k: given nothing; allowed: a whole number from 0 to 2147483648");
  EXPECT_EQ(refusal("m,n,k\n1,2,3,4\n"),
            "line 2: given 4 cells; allowed: at most 3, as in the header");
  EXPECT_EQ(refusal("m,n,k,m\n"), "line 1: column: given \"m\" twice; allowed: each column once");
  EXPECT_EQ(refusal("m,n,q\n").rfind("line 1: column: given \"q\"", 0), 0U);
  EXPECT_EQ(refusal("m,n,k,dtype\n1,2,3,int4\n"),
            "line 2: dtype: given int4; allowed: f32, f16 or bf16");
  EXPECT_EQ(refusal(R"([{"m": 1, "n": 2, "k": 3}, {"m": -1, "n": 2, "k": 3}])"),
            "item 1: m: given -1; allowed: a whole number from 0 to 2147483648");
  EXPECT_EQ(refusal(R"([{"m": 1, "n": [[]], "k": 3}])"),
            "item 0: n: given array; allowed: a number or text");
  EXPECT_EQ(refusal(R"([{"m": 1, "n": 2, "k": 3}, {"m": 4, "m": 5, "n": 2, "k": 3}])"),
            "list: m: given twice; allowed: each member once");
  EXPECT_NE(refusal("[{\"m\": 1e999}]").find("1e999"), std::string::npos);
  EXPECT_EQ(refusal(R"([5])").rfind("item 0: given number", 0), 0U);
  EXPECT_EQ(refusal(R"(["m=1 nonsense"])").rfind("item 0: problem", 0), 0U);
  EXPECT_EQ(refusal(R"({"m": 1})"), "list: given object; allowed: a JSON array");
  EXPECT_EQ(refusal("[").rfind("list: given", 0), 0U);
  EXPECT_EQ(refusal(""), "list: given no problems; allowed: at least one");
}

}  // namespace
}  // namespace gemwright::lists
