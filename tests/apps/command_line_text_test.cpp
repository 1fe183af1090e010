// One table, four texts: every option stands in help, completion, manual page and configuration listing.
#include <gtest/gtest.h>

#include "apps/command_line/help.h"
#include "engine/runtime/error.h"

namespace lathe {
namespace {

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

std::string dashes_escaped(std::string_view name) {
  std::string text;
  for (char c : name) text += c == '-' ? "\\-" : std::string(1, c);
  return text;
}

CommandLine any_line(Command command) {
  std::vector<std::string> words;
  std::string name(spec_of(command).name);
  if (size_t space = name.find(' '); space != std::string::npos)
    words = {name.substr(0, space), name.substr(space + 1)};
  else
    words = {name};
  if (command == Command::evaluate || command == Command::predict)
    words.insert(words.end(), {"--weights", "w"});
  if (command == Command::predict) words.emplace_back("a.jpg");
  return parse_command_line(words, {});
}

TEST(CommandLineText, EveryOptionStandsEverywhere) {
  std::string manual = manual_page();
  for (const CommandSpec& spec : command_table()) {
    std::string help = command_help(spec.command);
    EXPECT_TRUE(has(program_help(), std::string(spec.name)) && has(manual, std::string(spec.name)));
    EXPECT_FALSE(spec.examples.empty());
    for (std::string_view example : spec.examples) EXPECT_TRUE(has(help, std::string(example))) << example;
    bool configured = spec.command != Command::doctor && spec.command != Command::completion &&
                      spec.command != Command::man;
    std::string listing = configured ? config_listing(any_line(spec.command)) : "";
    for (const OptionSpec* option : options_of(spec.command)) {
      std::string name(option->name);
      EXPECT_TRUE(has(help, "--" + name)) << spec.name << " " << name;
      EXPECT_TRUE(has(manual, "\\fB\\-\\-" + dashes_escaped(name) + "\\fR")) << name;
      EXPECT_FALSE(option->help.empty() || option->example.empty() || option->group.empty()) << name;
      std::string example(option->example), letter = std::string("-") + option->letter;
      EXPECT_TRUE(has(example, "--" + name) || (option->letter && has(example, letter))) << name;
      for (const char* shell : {"bash", "zsh", "fish"})
        EXPECT_TRUE(has(completion_script({shell}), (shell == std::string("fish") ? " -l " : "--") + name))
            << name;
      bool listed = has(listing, "\n" + name + " = ") || has(listing, "\n# " + name + " is not set");
      EXPECT_EQ(listed, configured && !option->flag_only) << name;
    }
  }
}

TEST(CommandLineText, TableIsSound) {
  for (const OptionSpec& a : option_table()) {
    EXPECT_NE(a.commands, 0U) << a.name;
    for (const OptionSpec& b : option_table()) {
      if (&a == &b) continue;
      EXPECT_FALSE(a.name == b.name && (a.commands & b.commands)) << a.name;
      EXPECT_FALSE(a.letter && a.letter == b.letter && (a.commands & b.commands)) << a.name << " " << b.name;
    }
  }
}

TEST(CommandLineText, EveryExampleParses) {
  for (const OptionSpec& option : option_table()) {
    if (option.flag_only || option.name == "resume") continue;  // need files
    for (const CommandSpec& spec : command_table()) {
      if (!(option.commands & on(spec.command)) || spec.command == Command::doctor) continue;
      std::string text = std::string(spec.name) + " " + std::string(option.example);
      std::vector<std::string> words;
      for (size_t start = 0; start < text.size();) {
        size_t end = std::min(text.find(' ', start), text.size());
        words.push_back(text.substr(start, end - start));
        start = end + 1;
      }
      bool needs_weights =
          (on(spec.command) & (on(Command::evaluate) | on(Command::predict))) && option.name != "weights";
      if (needs_weights) words.insert(words.end(), {"--weights", "w"});
      if (spec.command == Command::predict) words.insert(words.end(), {"--", "a.jpg"});
      EXPECT_NO_THROW({
        CommandLine line = parse_command_line(words, {});
        EXPECT_EQ(line.settings.at(std::string(option.name)).origin, Origin::flag) << text;
      }) << text;
    }
  }
}

TEST(CommandLineText, HelpIsFoundWhereverItIsAsked) {
  using Words = std::vector<std::string>;
  for (const Words& words : {Words{"train", "--help"}, Words{"help", "train"}, Words{"train", "-h"},
                             Words{"train", "--epohcs", "3", "--help"}, Words{"train", "--lr", "x", "-h"}})
    EXPECT_EQ(parse_command_line(words, {}).help_about, std::vector{Command::train});
  EXPECT_EQ(parse_command_line({"data", "--help"}, {}).help_about.size(), 3U);
  for (const Words& words : {Words{"--help"}, Words{"-h"}, Words{"help"}}) {
    EXPECT_TRUE(parse_command_line(words, {}).help);
    EXPECT_TRUE(parse_command_line(words, {}).help_about.empty());
  }
  EXPECT_THROW(parse_command_line({"help", "trian"}, {}), Error);
}

TEST(CommandLineText, HelpKeepsToItsWidth) {
  for (const CommandSpec& spec : command_table()) {
    std::string help = command_help(spec.command);
    for (size_t start = 0; start < help.size();) {
      size_t end = help.find('\n', start);
      EXPECT_LE(end - start, 110U) << help.substr(start, end - start);
      start = end + 1;
    }
  }
}

TEST(CommandLineText, OnlyKnownShells) {
  EXPECT_THROW(completion_script({"bsh"}), Error);
  EXPECT_THROW(completion_script({}), Error);
  EXPECT_THROW(completion_script({"bash", "zsh"}), Error);
}

}  // namespace
}  // namespace lathe
