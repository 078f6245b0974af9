package org.rdmapanama.samples.table;

import java.nio.charset.StandardCharsets;
import java.time.Duration;
import org.rdmapanama.VerbsArena;
import org.rdmapanama.samples.CommonOptions;
import org.rdmapanama.samples.Failure;
import org.rdmapanama.samples.WrongUsage;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.Spec;

/** What the commands have in common that do one thing with a table. */
abstract class TableAccess {
    private static final int MAX_SECONDS = 86_400;

    @Parameters(index = "0", paramLabel = "HOST[:PORT]", description = "The server (port " + TableCommand.PORT + ").")
    private String host;

    @Option(
            names = "--timeout",
            paramLabel = "SECONDS",
            defaultValue = "10",
            description = "How long to wait for the server (${DEFAULT-VALUE}).")
    private int timeout;

    @Mixin
    CommonOptions common;

    @Spec
    CommandSpec spec;

    /** What is done with the table. */
    @FunctionalInterface
    interface Use<T> {
        T with(TableClient table) throws InterruptedException;
    }

    final <T> T use(Use<T> use) throws InterruptedException {
        WrongUsage.range(spec.commandLine(), "--timeout", timeout, 1, MAX_SECONDS);
        try (VerbsArena arena = VerbsArena.ofShared();
                TableClient table = TableClient.connect(
                        arena,
                        WrongUsage.address(spec.commandLine(), host, TableCommand.PORT),
                        Duration.ofSeconds(timeout))) {
            return use.with(table);
        } catch (TableException e) {
            throw new Failure(e.getMessage(), e);
        }
    }

    static byte[] bytes(String text) {
        return text.getBytes(StandardCharsets.UTF_8);
    }
}
