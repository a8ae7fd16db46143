// Made-up sources, and what a reader of them says they define, call and add.
#include "truth/python.h"

#include <gtest/gtest.h>

#include <random>

namespace archlight::truth {
namespace {

PythonFile parsed(const std::string& text) {
  base::Result<PythonFile> file = PythonFile::parse(text, "modeling_tiny.py");
  EXPECT_TRUE(file.ok()) << (file.ok() ? "" : base::render_all(file.faults()));
  return file.ok() ? std::move(*file) : PythonFile();
}

std::string fault_of(const std::string& text) {
  const base::Result<PythonFile> file = PythonFile::parse(text, "modeling_tiny.py");
  return file.ok() ? "" : file.faults()[0].message();
}

constexpr const char* kTiny = R"(
"""A model that nobody published. TinyGhost stands in this text alone."""
from .tiny_vision import TinyVision
from ...utils import logging

def rotate(x):
    return x

class TinyBlock(nn.Module):
    def __init__(self, config):
        self.norm = TinyNorm(config)  # self.hidden = None
        self.attn, self.mlp = TinyAttention(config), TinyMLP(config)

    def forward(self, x, residual=None):
        """Adds what attn makes."""
        residual = x
        x = self.attn(
            self.norm(x),
            prev_topk = residual,
        )
        x = residual + x
        return x + self.mlp(self.norm(x))

class TinyLast(TinyBlock):
    pass
)";

TEST(Python, NamesWhatATextDefines) {
  const PythonFile file = parsed(kTiny);
  std::vector<std::string> names;
  for (const PythonFile::Definition& each : file.definitions()) names.push_back(each.name);
  EXPECT_EQ(names, (std::vector<std::string>{"rotate", "TinyBlock", "TinyBlock.__init__", "TinyBlock.forward",
                                             "TinyLast"}));
  EXPECT_EQ(file.find("TinyBlock.forward")->line, 14);
  EXPECT_EQ(file.find("TinyBlock")->bases, (std::vector<std::string>{"nn.Module"}));
  EXPECT_EQ(file.find("TinyLast.forward"), file.find("TinyBlock.forward")) << "a method of its base";
  EXPECT_EQ(file.find("TinyLast.backward"), nullptr);
  EXPECT_EQ(file.find("forward"), nullptr);
  EXPECT_EQ(file.siblings(), (std::vector<std::string>{"tiny_vision"}));
}

TEST(Python, CodeIsFoundByItsWordsAndCommentsAreNoCode) {
  const PythonFile file = parsed(kTiny);
  EXPECT_TRUE(file.holds("x = residual+x"));
  EXPECT_TRUE(file.holds("self.attn(self.norm(x), prev_topk=residual"));
  EXPECT_TRUE(file.holds("residual = x", file.find("TinyBlock.forward")));
  EXPECT_FALSE(file.holds("residual = x", file.find("TinyBlock.__init__")));
  EXPECT_FALSE(file.holds("topk = residual")) << "a word is whole";
  EXPECT_FALSE(file.holds("self.hidden"));
  EXPECT_FALSE(file.holds("TinyGhost"));
  EXPECT_FALSE(file.holds("what attn makes"));
  EXPECT_FALSE(file.holds(""));
}

TEST(Python, CallsAreInOrderOfEvaluation) {
  EXPECT_EQ(parsed(kTiny).find("TinyBlock.forward")->calls,
            (std::vector<std::string>{"norm", "attn", "norm", "mlp"}));
  const PythonFile mlp = parsed(
      "class M:\n  def forward(self, x):\n    return self.down(self.act(self.gate(x)) * self.up[0](x))\n");
  EXPECT_EQ(mlp.find("M.forward")->calls, (std::vector<std::string>{"gate", "act", "up", "down"}));
}

// Residual sums of one function, over its branches: "least-most".
std::string residuals(const std::string& body) {
  const PythonFile file = parsed("def forward(self, x, residual):\n" + body);
  const Times times = file.find("forward")->residuals;
  return std::to_string(times.least) + "-" +
         (times.most == Times::kMany ? "many" : std::to_string(times.most));
}

TEST(Python, AMethodOfAParameterIsNoModule) {
  const PythonFile file =
      parsed("def forward(self, x):\n  return self.a(self.b.float() + self.c.forward(x) + self.d.e(x))\n");
  EXPECT_EQ(file.find("forward")->calls, (std::vector<std::string>{"c", "a"}));
}

TEST(Python, ResidualSums) {
  const std::vector<std::pair<const char*, const char*>> rows = {
      {"  return x\n", "0-0"},
      {"  return x + 1\n", "0-0"},
      {"  x = residual + x\n", "1-1"},
      {"  x = residual + x * self.scale\n", "1-1"},
      {"  x += residual\n", "1-1"},
      {"  x = x + self.mlp(x)\n", "1-1"},
      {"  x = x + self.bias.float()\n", "0-0"},
      {"  x = x + torch.exp(x)\n", "0-0"},                  // no module of its own
      {"  x = self.a(x) + self.b(x) + residual\n", "2-2"},  // a parallel block adds twice
      {"  x = dropout_add(x, residual, 0.1)\n", "1-1"},
      {"  if self.pre:\n    residual = x\n  x = residual + x\n", "1-1"},
      {"  if self.a:\n    x = x + residual\n", "0-1"},
      {"  if self.a:\n    x = x + residual\n  else:\n    x = residual + x\n    x = residual + x\n", "1-2"},
      {"  if self.a:\n    x = x + residual\n  elif self.b:\n    pass\n  else:\n    x = x + residual\n",
       "0-1"},
      {"  x = x + residual if self.a else x\n", "0-1"},
      {"  for m in self.ms:\n    x = x + residual\n", "0-many"},
      {"  x = residual * self.alpha + x * self.beta\n", "1-1"},
      {"  x = (residual) + x\n", "1-1"},
      {"  x, residual = self.norm(x, residual)\n", "0-many"},  // added in what is called
      {"  def inner(y):\n    return y + residual\n  return x\n", "0-0"},
  };
  for (const auto& [body, times] : rows) EXPECT_EQ(residuals(body), times) << body;
}

TEST(Python, WhatIsNoSourceIsRefusedAtItsPlace) {
  EXPECT_EQ(
      fault_of("x = 1\ny = '\xff'\n"),
      "modeling_tiny.py:2:6: byte 0xff stands in no UTF-8 text; expected a Python source, as published");
  EXPECT_EQ(
      fault_of(std::string("x = 1\n\0", 7)),
      "modeling_tiny.py:2:1: byte 0x00 stands in no UTF-8 text; expected a Python source, as published");
  EXPECT_EQ(fault_of("x = 1\nclass :\n"),
            "modeling_tiny.py:2:1: no Python from here on; expected a Python source, as published");
  // A word and a sign for each of 40,000, and two for the end.
  std::string many;
  for (int i = 0; i < 40'000; ++i) many += "x,";
  EXPECT_EQ(fault_of(many), "modeling_tiny.py: the source has 80002 words; expected at most 60000");
  std::string deep = "x";
  for (int i = 0; i < 2'000; ++i) deep += ".a";
  EXPECT_NE(fault_of(deep).find("nested deeper than 1000 levels"), std::string::npos) << fault_of(deep);
  EXPECT_EQ(fault_of(""), "");
}

// Shapes that have broken parsers, as large as they may be: each is read or refused, in little time.
TEST(Python, HostileTextsNeitherCrashNorHang) {
  const auto repeated = [](const std::string& piece, size_t bytes) {
    std::string out;
    while (out.size() + piece.size() <= bytes) out += piece;
    return out;
  };
  for (const char* piece : {"(",
                            "[",
                            "{",
                            "not ",
                            "lambda:",
                            "a.",
                            "a+",
                            "f'{",
                            "\"",
                            "\\",
                            "\n",
                            "1j",
                            "-",
                            "a if b else ",
                            "if x:\n ",
                            "x=",
                            "@a\n",
                            "\"\"\"",
                            "async ",
                            "**",
                            "a[",
                            "`",
                            "\xe2\x82\xac"
                            "a"})
    for (const size_t bytes : {size_t{59'000}, size_t{300'000}}) fault_of(repeated(piece, bytes));
  std::string steps;
  for (int depth = 0; depth < 400; ++depth) steps += std::string(static_cast<size_t>(depth), ' ') + "if x:\n";
  fault_of(steps);
  std::mt19937 random(7);
  for (int round = 0; round < 40; ++round) {
    std::string text;
    static constexpr std::string_view kSigns = "()[]{}:,.=+-'\"\n #abdef class\\@*";
    for (int i = 0; i < 20'000; ++i) text += kSigns[random() % kSigns.size()];
    fault_of(text);
  }
  EXPECT_EQ(fault_of("class A(B.C): pass\nclass C(A): pass\n"), "");
  const PythonFile ring = parsed("class A(B): pass\nclass B(A): pass\nclass C(C.D): pass\n");
  EXPECT_EQ(ring.find("A.forward"), nullptr);
  EXPECT_EQ(ring.find("C.D.E"), nullptr);
}

}  // namespace
}  // namespace archlight::truth
