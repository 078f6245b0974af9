package org.rdmapanama.samples.table;

import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Parameters;

/** Sets a value. */
@Command(name = "put", description = "Set the value of a key.", sortOptions = false)
final class TablePutCommand extends TableAccess implements Callable<Integer> {
    @Parameters(index = "1", paramLabel = "KEY", description = "The key.")
    private String key;

    @Parameters(index = "2", paramLabel = "VALUE", description = "The value.")
    private String value;

    @Override
    public Integer call() throws InterruptedException {
        return use(table -> {
            table.put(bytes(key), bytes(value));
            return 0;
        });
    }
}
