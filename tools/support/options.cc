#include "tools/support/options.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cxxopts.hpp>
#include <numeric>
#include <set>
#include <string_view>
#include <type_traits>

#include "lib/base/error.h"

namespace pipeformer {
namespace {

template <class T>
struct ElementOf {
  using Type = T;
  static constexpr bool kIsList = false;
};
template <class T>
struct ElementOf<std::vector<T>> {
  using Type = T;
  static constexpr bool kIsList = true;
};
template <class T>
struct ElementOf<std::optional<T>> {
  using Type = T;
  static constexpr bool kIsList = false;
};

bool IsFlag(const Option& option) {
  return std::holds_alternative<bool*>(option.target);
}

bool IsList(const Option& option) {
  return std::visit(
      [](const auto& target) {
        using Target = std::decay_t<decltype(target)>;
        if constexpr (std::is_pointer_v<Target>) {
          return ElementOf<std::remove_pointer_t<Target>>::kIsList;
        } else {
          return false;
        }
      },
      option.target);
}

// The number in the shortest form that reads back the same, with a dot.
template <class T>
std::string NumberText(T value) {
  char text[64];
  return {text, std::to_chars(text, text + sizeof(text), value).ptr};
}

std::string Quoted(const std::string& text) { return "'" + text + "'"; }

// --- Finding the option meant ---

// Insertions, deletions and substitutions that lead from `a` to `b`
// (Wagner and Fischer 1974).
size_t EditDistance(std::string_view a, std::string_view b) {
  std::vector<size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), size_t{0});
  for (size_t i = 0; i < a.size(); ++i) {
    size_t diagonal = row[0];
    row[0] = i + 1;
    for (size_t j = 0; j < b.size(); ++j) {
      const size_t substituted = diagonal + (a[i] != b[j]);
      diagonal = row[j + 1];
      row[j + 1] = std::min({substituted, row[j] + 1, row[j + 1] + 1});
    }
  }
  return row.back();
}

const Option* Find(const std::vector<Option>& options, std::string_view name) {
  const auto found =
      std::find_if(options.begin(), options.end(),
                   [&](const auto& o) { return o.name == name; });
  return found == options.end() ? nullptr : &*found;
}

[[noreturn]] void ThrowUnknown(const std::vector<Option>& options,
                               const std::string& name) {
  std::string nearest;
  size_t best = std::max<size_t>(2, name.size() / 3) + 1;
  for (const Option& option : options) {
    const bool extends = name.size() > 2 && option.name.starts_with(name);
    const size_t distance = extends ? 0 : EditDistance(name, option.name);
    if (distance >= best) continue;
    best = distance;
    nearest = option.name;
  }
  ThrowUsage("--" + name + ": unknown option; " +
             (nearest.empty() ? "" : "did you mean --" + nearest + "? ") +
             "--help lists all");
}

// --- Reading values ---

template <class Number>
Number ParseNumber(const Option& option, const std::string& text) {
  Number value = 0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  bool good = stop == end && error == std::errc();
  if constexpr (std::is_floating_point_v<Number>) {
    good = good && std::isfinite(value);
  }
  if (!good) {
    ThrowUsage("--" + option.name + ": " + Quoted(text) + " is not a " +
               (std::is_floating_point_v<Number> ? "number"
                : std::is_signed_v<Number>       ? "whole number"
                                                 : "whole number from 0") +
               "; see --help");
  }
  const auto check = [&](bool broken, const char* limit_name, double limit) {
    if (!broken) return;
    ThrowUsage("--" + option.name + ": " + text + " is " + limit_name + " " +
               NumberText(limit) + "; see --help");
  };
  check(static_cast<double>(value) < option.min, "below the least value",
        option.min);
  check(static_cast<double>(value) > option.max, "above the greatest value",
        option.max);
  return value;
}

// The words of `a|b|c`; none when the value is free.
std::vector<std::string> Choices(const std::string& value) {
  const bool free = std::any_of(value.begin(), value.end(),
                                [](char c) { return c >= 'A' && c <= 'Z'; });
  std::vector<std::string> words;
  if (free || value.find('|') == std::string::npos) return words;
  size_t begin = 0;
  while (begin <= value.size()) {
    const size_t end = std::min(value.find('|', begin), value.size());
    words.push_back(value.substr(begin, end - begin));
    begin = end + 1;
  }
  return words;
}

void CheckChoice(const Option& option, const std::string& text) {
  const auto words = Choices(option.value);
  if (words.empty()) return;
  if (std::find(words.begin(), words.end(), text) != words.end()) return;
  ThrowUsage("--" + option.name + ": " + Quoted(text) + " is not one of " +
             option.value);
}

template <class T>
T ParseValue(const Option& option, const std::string& text) {
  if constexpr (std::is_same_v<T, std::string>) {
    CheckChoice(option, text);
    return text;
  } else if constexpr (std::is_same_v<T, bool>) {
    return text == "true";
  } else {
    return ParseNumber<T>(option, text);
  }
}

void SetTarget(const Option& option, const std::string& text) {
  std::visit(
      [&](const auto& target) {
        using Target = std::decay_t<decltype(target)>;
        if constexpr (std::is_pointer_v<Target>) {
          using Variable = ElementOf<std::remove_pointer_t<Target>>;
          auto value = ParseValue<typename Variable::Type>(option, text);
          if constexpr (Variable::kIsList) {
            target->push_back(std::move(value));
          } else {
            *target = std::move(value);
          }
        } else {
          CheckChoice(option, text);
          target(text);
        }
      },
      option.target);
}

void ClearList(const Option& option) {
  std::visit(
      [](const auto& target) {
        using Target = std::decay_t<decltype(target)>;
        if constexpr (std::is_pointer_v<Target>) {
          if constexpr (ElementOf<std::remove_pointer_t<Target>>::kIsList) {
            target->clear();
          }
        }
      },
      option.target);
}

// Rewrites every option to `--name=value`, a list to one such a value, so that
// a value may start with a dash and a list needs no separator.
std::vector<std::string> Spell(const std::vector<std::string>& arguments,
                               const std::vector<Option>& options) {
  std::vector<std::string> spelled;
  for (size_t i = 0; i < arguments.size(); ++i) {
    const std::string& argument = arguments[i];
    if (argument.size() < 3 || !argument.starts_with("--")) {
      ThrowUsage(Quoted(argument) +
                 ": unexpected argument; files are named by options such as "
                 "--input, see --help");
    }
    const size_t equals = std::min(argument.find('='), argument.size());
    const std::string name = argument.substr(2, equals - 2);
    const Option* option = Find(options, name);
    if (option == nullptr) ThrowUnknown(options, name);
    if (IsFlag(*option) && equals < argument.size()) {
      ThrowUsage("--" + name + ": takes no value");
    }
    size_t num_values = equals < argument.size();
    if (IsFlag(*option) || num_values == 1) spelled.push_back(argument);
    if (IsFlag(*option) || (num_values == 1 && !IsList(*option))) continue;
    while (i + 1 < arguments.size() && !arguments[i + 1].starts_with("--")) {
      spelled.push_back("--" + name + "=" + arguments[++i]);
      ++num_values;
      if (!IsList(*option)) break;
    }
    if (num_values == 0) {
      ThrowUsage("--" + name + ": needs a value (" + option->value + ")");
    }
  }
  return spelled;
}

cxxopts::Options Declare(const std::vector<Option>& options) {
  cxxopts::Options declared("", "");
  declared.set_width(80);
  auto add = declared.add_options();
  for (const Option& option : options) {
    if (IsFlag(option)) {
      add(option.name, option.help);
    } else {
      add(option.name, option.help, cxxopts::value<std::string>(),
          option.value);
    }
  }
  return declared;
}

// --- Describing ---

std::string DefaultText(const Option& option) {
  return std::visit(
      [](const auto& target) -> std::string {
        using Target = std::decay_t<decltype(target)>;
        if constexpr (std::is_same_v<Target, std::string*>) {
          return *target;
        } else if constexpr (std::is_same_v<Target, int64_t*> ||
                             std::is_same_v<Target, uint64_t*> ||
                             std::is_same_v<Target, double*>) {
          return NumberText(*target);
        } else if constexpr (std::is_same_v<Target,
                                            std::vector<std::string>*>) {
          std::string text;
          for (const auto& item : *target) {
            text += (text.empty() ? "" : " ") + item;
          }
          return text;
        } else {
          return "";
        }
      },
      option.target);
}

// The help of cxxopts without its title, the column for short options, and
// the spaces at line ends.
std::string Tidy(const std::string& help) {
  constexpr std::string_view kIndent = "      ";
  std::string tidy;
  size_t begin = 0;
  while (begin < help.size()) {
    const size_t end = std::min(help.find('\n', begin), help.size());
    std::string_view line = std::string_view(help).substr(begin, end - begin);
    begin = end + 1;
    line = line.substr(0, line.find_last_not_of(' ') + 1);
    if (!line.starts_with("  ")) continue;
    if (line.starts_with(kIndent)) line.remove_prefix(4);
    tidy.append(line).append("\n");
  }
  return tidy;
}

}  // namespace

void ParseOptions(const std::vector<std::string>& arguments,
                  const std::vector<Option>& options) {
  const std::vector<std::string> spelled = Spell(arguments, options);
  std::vector<const char*> argv = {""};
  for (const std::string& argument : spelled) argv.push_back(argument.c_str());
  std::set<std::string> seen;
  const auto result = [&] {
    try {
      return Declare(options).parse(static_cast<int>(argv.size()), argv.data());
    } catch (const cxxopts::exceptions::exception& error) {
      ThrowUsage(std::string(error.what()) + "; see --help");
    }
  }();
  for (const auto& item : result.arguments()) {
    const Option& option = *Find(options, item.key());
    const bool first = seen.insert(option.name).second;
    if (!first && !IsList(option) && !IsFlag(option)) {
      ThrowUsage("--" + option.name + ": given twice; give it once");
    }
    if (first) ClearList(option);
    SetTarget(option, item.value());
  }
  for (const Option& option : options) {
    if (option.required && !seen.contains(option.name)) {
      ThrowUsage("--" + option.name + " " + option.value +
                 ": is required; see --help");
    }
  }
}

std::string DescribeOptions(const std::vector<Option>& options) {
  std::vector<Option> described = options;
  for (Option& option : described) {
    const std::string text = DefaultText(option);
    if (option.required) option.help += " (required)";
    if (!text.empty()) option.help += " (default: " + text + ")";
    if (IsList(option)) option.value += "...";
  }
  return Tidy(Declare(described).help({}, false));
}

}  // namespace pipeformer
