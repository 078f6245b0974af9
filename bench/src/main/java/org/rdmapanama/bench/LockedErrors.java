package org.rdmapanama.bench;

import java.io.PrintWriter;
import org.openjdk.jmh.runner.RunnerException;
import picocli.CommandLine;
import picocli.CommandLine.IExecutionExceptionHandler;
import picocli.CommandLine.ParseResult;

/** Says in one line that JMH cannot have the file by which it keeps two benchmarks from running at the same time. */
final class LockedErrors implements IExecutionExceptionHandler {
    private static final int STATUS = 1;
    private static final String FILE = "jmh.lock";

    @Override
    public int handleExecutionException(Exception failure, CommandLine command, ParseResult parsed) throws Exception {
        String message = String.valueOf(failure.getMessage());
        if (!(failure instanceof RunnerException) || !message.contains(FILE)) {
            throw failure;
        }
        PrintWriter err = command.getErr();
        err.println(command.getCommandSpec().qualifiedName() + ": " + message.replaceFirst("^ERROR: ", ""));
        err.flush();
        return STATUS;
    }
}
