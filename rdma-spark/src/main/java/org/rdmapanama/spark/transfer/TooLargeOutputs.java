package org.rdmapanama.spark.transfer;

import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Set;

/**
 * The outputs of map tasks whose files are larger than all that a server may register at once. They do not change, and neither
 * does what the server may, so it is useless to ask for their blocks again. One thread uses it.
 */
final class TooLargeOutputs {
    /** The oldest ones are forgotten, and asked for again. */
    private static final int MOST = 10_000;

    private record Output(int shuffle, long map) {
        static Output of(BlockRange block) {
            return new Output(block.shuffle(), block.map());
        }
    }

    private final Set<Output> outputs = Collections.newSetFromMap(new LinkedHashMap<>() {
        @Override
        protected boolean removeEldestEntry(Map.Entry<Output, Boolean> eldest) {
            return size() > MOST;
        }
    });

    void add(BlockRange block) {
        outputs.add(Output.of(block));
    }

    boolean has(BlockRange block) {
        return outputs.contains(Output.of(block));
    }
}
