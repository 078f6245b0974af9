package org.rdmapanama.samples;

import java.io.IOException;
import java.io.PrintWriter;
import java.nio.channels.ClosedByInterruptException;
import java.nio.file.AccessDeniedException;
import java.nio.file.FileSystemException;
import java.util.List;
import org.rdmapanama.DeviceList;
import org.rdmapanama.VerbsException;
import org.rdmapanama.nvme.NvmeException;
import picocli.CommandLine;
import picocli.CommandLine.IExecutionExceptionHandler;
import picocli.CommandLine.IParameterExceptionHandler;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.ParseResult;

/** Turns every failure into one line on standard error and an exit status; --stacktrace adds the stack trace. */
final class Failures implements IExecutionExceptionHandler, IParameterExceptionHandler {
    /** Wrong usage. */
    static final int USAGE = 2;

    /** Ended by SIGINT, as shells count it. */
    static final int INTERRUPTED = 130;

    private static final int FAILED = 1;

    @Override
    public int handleParseException(ParameterException failure, String[] arguments) {
        CommandLine command = failure.getCommandLine();
        String name = command.getCommandSpec().qualifiedName();
        // This is how picocli fails on an empty argument when it looks for abbreviated commands and options.
        boolean empty = failure.getCause() instanceof IndexOutOfBoundsException
                && List.of(arguments).contains("");
        print(
                command,
                (empty ? "an argument is empty" : WrongUsage.describe(failure)) + " (see '" + name + " --help')");
        return USAGE;
    }

    @Override
    public int handleExecutionException(Exception failure, CommandLine command, ParseResult parsed) {
        if (failure instanceof InterruptedException || failure instanceof ClosedByInterruptException) {
            print(command, "interrupted; everything is closed");
            return INTERRUPTED;
        }
        print(command, failure);
        if (command.getParseResult().matchedOptionValue("--stacktrace", false)) {
            failure.printStackTrace(command.getErr());
            command.getErr().flush();
        }
        return FAILED;
    }

    /** Prints one line that says why the command failed. */
    static void print(CommandLine command, Exception failure) {
        print(command, describe(failure) + elsewhere(command, failure));
    }

    /** Suggests the lab if the failure is due to a missing device. */
    private static String elsewhere(CommandLine command, Exception failure) {
        boolean device = failure instanceof VerbsException || failure.getCause() instanceof VerbsException;
        return device && !hasDevices()
                ? "; or use the lab: bin/lab run bin/"
                        + command.getCommandSpec().qualifiedName()
                : "";
    }

    private static boolean hasDevices() {
        try {
            return !DeviceList.query().isEmpty();
        } catch (VerbsException e) {
            return false;
        }
    }

    /** Says why something failed. */
    static String describe(Exception failure) {
        return switch (failure) {
            case Failure known -> known.getMessage();
            case VerbsException verb -> verb.getMessage();
            case NvmeException nvme -> nvme.getMessage();
            case IllegalArgumentException argument -> argument.getMessage();
            case AccessDeniedException denied -> denied.getFile() + ": permission denied";
            case FileSystemException file when file.getReason() != null -> file.getFile() + ": " + file.getReason();
            case IOException io -> "I/O error: " + text(io);
            default -> "unexpected: " + text(failure) + "; --stacktrace shows the stack trace";
        };
    }

    private static String text(Exception failure) {
        String name = failure.getClass().getSimpleName();
        return failure.getMessage() == null ? name : name + ", " + failure.getMessage();
    }

    private static void print(CommandLine command, String message) {
        PrintWriter err = command.getErr();
        err.println(command.getCommandSpec().qualifiedName() + ": "
                + message.strip().replaceAll("\\s*\\R\\s*", " "));
        err.flush();
    }
}
