package org.rdmapanama.samples.table;

import java.io.PrintWriter;
import java.nio.charset.StandardCharsets;
import java.util.Optional;
import java.util.concurrent.Callable;
import org.rdmapanama.samples.Failure;
import picocli.CommandLine.Command;
import picocli.CommandLine.Parameters;

/** Reads a value. */
@Command(
        name = "get",
        description = "Read a value by RDMA READ and print it; fails if there is none.",
        sortOptions = false)
final class TableGetCommand extends TableAccess implements Callable<Integer> {
    @Parameters(index = "1", paramLabel = "KEY", description = "The key.")
    private String key;

    @Override
    public Integer call() throws InterruptedException {
        Optional<byte[]> value = use(table -> table.get(bytes(key)));
        if (value.isEmpty()) {
            throw new Failure("there is no key '" + key + "'");
        }
        PrintWriter out = spec.commandLine().getOut();
        out.println(new String(value.get(), StandardCharsets.UTF_8));
        out.flush();
        return 0;
    }
}
