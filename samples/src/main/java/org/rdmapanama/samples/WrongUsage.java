package org.rdmapanama.samples;

import java.net.InetSocketAddress;
import java.util.Collection;
import java.util.List;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import picocli.CommandLine;
import picocli.CommandLine.MissingParameterException;
import picocli.CommandLine.Model.ArgSpec;
import picocli.CommandLine.Model.OptionSpec;
import picocli.CommandLine.Model.PositionalParamSpec;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.TypeConversionException;
import picocli.CommandLine.UnmatchedArgumentException;

/** Says what is wrong with a command line, and what was required. picocli says it in terms of its own. */
public final class WrongUsage {
    /** What devices are called: mlx5_0, rxe0, soft0. Addresses, paths and numbers look different. */
    private static final String DEVICE_NAME = "[A-Za-z][A-Za-z0-9_-]*";

    private WrongUsage() {}

    /**
     * Checks that the value of an option is in a range.
     *
     * @param command the command
     * @param option the option, as it is written
     * @param value its value
     * @param min the smallest valid value
     * @param max the largest valid value
     * @throws ParameterException if the value is outside the range
     */
    public static void range(CommandLine command, String option, long value, long min, long max) {
        if (value < min || value > max) {
            throw new ParameterException(
                    command, option + " must be between " + min + " and " + max + ", not " + value);
        }
    }

    /**
     * Reads the address of a host.
     *
     * @param command the command
     * @param text {@code HOST}, {@code HOST:PORT} or {@code [ADDRESS]:PORT}
     * @param defaultPort the port if there is none in the text
     * @return the address
     * @throws ParameterException if the port is not one
     * @throws Failure if there is no such host
     */
    public static InetSocketAddress address(CommandLine command, String text, String defaultPort) {
        int colon = Sockets.portColon(text);
        String host = colon > 0 ? text.substring(0, colon) : text;
        String port = colon > 0 ? text.substring(colon + 1) : defaultPort;
        if (!port.matches("\\d{1,5}") || !Sockets.isPort(Integer.parseInt(port))) {
            throw new ParameterException(
                    command,
                    "the port of '" + text + "' must be between 1 and 65535: write HOST:PORT or [ADDRESS]:PORT");
        }
        return Sockets.resolve(host, Integer.parseInt(port));
    }

    /**
     * Lists the subcommands of a command.
     *
     * @param command the command
     * @return the names: {@code devices, ping or learn}
     */
    public static String choices(CommandLine command) {
        return either(command.getSubcommands().keySet());
    }

    /**
     * Joins names of which one is to be chosen.
     *
     * @param names the names, at least one
     * @return the text: {@code a, b or c}
     */
    public static String either(Collection<String> names) {
        List<String> all = List.copyOf(names);
        String last = all.getLast();
        return all.size() == 1 ? last : String.join(", ", all.subList(0, all.size() - 1)) + " or " + last;
    }

    static String describe(ParameterException failure) {
        if (failure instanceof UnmatchedArgumentException unmatched && !unmatched.isUnknownOption()) {
            return tooMany(unmatched.getCommandLine(), unmatched.getUnmatched());
        }
        if (failure instanceof MissingParameterException missing && isChoice(missing.getMissing())) {
            return "give "
                    + either(missing.getMissing().stream()
                            .map(WrongUsage::shortAndLong)
                            .toList());
        }
        if (failure.getCause() instanceof TypeConversionException conversion && failure.getArgSpec() != null) {
            return unreadable(failure.getArgSpec(), failure.getValue(), conversion);
        }
        return failure.getMessage()
                .replaceFirst("^Error: ", "")
                .replaceFirst("^(\\S+), (\\S+) are mutually exclusive .*", "$1 and $2 exclude each other");
    }

    private static String tooMany(CommandLine command, List<String> unmatched) {
        if (!command.getSubcommands().isEmpty()) {
            // What perf can run is called a test.
            String kind = command.getCommandName().equals("perf") ? "test" : "command";
            return "there is no " + kind + " '" + unmatched.getFirst() + "': choose " + choices(command);
        }
        String name = command.getCommandName();
        String extra = unmatched.stream().map(word -> "'" + word + "'").collect(Collectors.joining(", "));
        List<PositionalParamSpec> operands = command.getCommandSpec().positionalParameters();
        if (operands.isEmpty()) {
            return name + " takes no operand: " + extra + deviceHint(command, unmatched.getFirst());
        }
        // An operand that may be repeated takes all the words there are.
        return name + " takes one " + operands.getFirst().paramLabel() + ", not also " + extra
                + deviceHint(command, unmatched.getFirst());
    }

    /** How to name a device, if the word may be meant as one. */
    private static String deviceHint(CommandLine command, String word) {
        OptionSpec device = command.getCommandSpec().findOption("--device");
        return device != null && word.matches(DEVICE_NAME)
                ? "; if that is a device, write " + device.shortestName() + " " + word
                : "";
    }

    /** Whether these are the options of a group, exactly one of which must be given. */
    private static boolean isChoice(List<ArgSpec> missing) {
        return missing.size() > 1
                && missing.stream()
                        .allMatch(each -> each instanceof OptionSpec
                                && each.group() != null
                                && each.group().exclusive());
    }

    private static String shortAndLong(ArgSpec argument) {
        OptionSpec option = (OptionSpec) argument;
        return option.shortestName() + " (" + option.longestName().substring("--".length()) + ")";
    }

    private static String unreadable(ArgSpec argument, String value, TypeConversionException failure) {
        String name = argument instanceof OptionSpec option ? option.longestName() : argument.paramLabel();
        Class<?> type = argument.auxiliaryTypes().length > 0 ? argument.auxiliaryTypes()[0] : argument.type();
        String required;
        if (type.isEnum()) {
            required = either(
                    Stream.of(type.getEnumConstants()).map(Object::toString).toList());
        } else if (type == int.class || type == Integer.class) {
            required = whole(value, Integer.MIN_VALUE, Integer.MAX_VALUE);
        } else if (type == long.class || type == Long.class) {
            required = whole(value, Long.MIN_VALUE, Long.MAX_VALUE);
        } else {
            // The converters of this program say what they require.
            return name + ": " + failure.getMessage();
        }
        return name + " must be " + required + ", not '" + value + "'";
    }

    private static String whole(String value, long min, long max) {
        return value.matches("[+-]?\\d+") ? "between " + min + " and " + max : "a whole number";
    }
}
