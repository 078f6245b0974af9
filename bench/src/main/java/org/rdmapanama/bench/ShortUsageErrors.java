package org.rdmapanama.bench;

import java.io.PrintWriter;
import java.util.stream.Collectors;
import picocli.CommandLine;
import picocli.CommandLine.IParameterExceptionHandler;
import picocli.CommandLine.Model.OptionSpec;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.TypeConversionException;
import picocli.CommandLine.UnmatchedArgumentException;

/** Says in one line what is wrong with a command line, instead of printing the whole help. */
public final class ShortUsageErrors implements IParameterExceptionHandler {
    private static final int STATUS = 2;

    /** Creates a handler. */
    public ShortUsageErrors() {}

    @Override
    public int handleParseException(ParameterException failure, String[] arguments) {
        CommandLine command = failure.getCommandLine();
        String name = command.getCommandSpec().qualifiedName();
        PrintWriter err = command.getErr();
        err.println(name + ": " + describe(failure) + " (see '" + name + " --help')");
        err.flush();
        return STATUS;
    }

    private static String describe(ParameterException failure) {
        if (failure instanceof UnmatchedArgumentException unmatched && !unmatched.isUnknownOption()) {
            return "takes no operand: "
                    + unmatched.getUnmatched().stream()
                            .map(word -> "'" + word + "'")
                            .collect(Collectors.joining(", "));
        }
        // The options of the benchmarks are numbers, texts and files; only numbers can be unreadable.
        if (failure.getCause() instanceof TypeConversionException
                && failure.getArgSpec() instanceof OptionSpec option) {
            String problem = failure.getValue().matches("[+-]?\\d+") ? "is too large" : "must be a whole number";
            return option.longestName() + " " + problem + ": '" + failure.getValue() + "'";
        }
        return failure.getMessage();
    }
}
