package org.rdmapanama.samples.table;

import java.util.concurrent.Callable;
import org.rdmapanama.samples.Failure;
import picocli.CommandLine.Command;
import picocli.CommandLine.Parameters;

/** Removes a key. */
@Command(name = "remove", description = "Remove a key; fails if it is not there.", sortOptions = false)
final class TableRemoveCommand extends TableAccess implements Callable<Integer> {
    @Parameters(index = "1", paramLabel = "KEY", description = "The key.")
    private String key;

    @Override
    public Integer call() throws InterruptedException {
        if (!use(table -> table.remove(bytes(key)))) {
            throw new Failure("there is no key '" + key + "'");
        }
        return 0;
    }
}
