package org.rdmapanama.samples.collective;

import java.util.ArrayList;
import java.util.List;
import org.rdmapanama.samples.WrongUsage;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;

/** Measures a broadcast. */
@Command(
        name = "broadcast",
        description = "Copy the elements of one rank to all: along a tree up to 32 KiB, and along a chain beyond.",
        sortOptions = false)
final class MeasureBroadcast extends Measurement.OfVectors {
    @Option(names = "--root", paramLabel = "RANK", defaultValue = "0", description = "The rank (${DEFAULT-VALUE}).")
    private int root;

    @Override
    void check() {
        super.check();
        WrongUsage.range(spec().commandLine(), "--root", root, 0, ranks.size() - 1);
    }

    @Override
    List<String> arguments() {
        List<String> all = new ArrayList<>(super.arguments());
        all.addAll(List.of("--root", Integer.toString(root)));
        return all;
    }

    @Override
    String title() {
        return "broadcast of " + type + "s from rank " + root;
    }

    @Override
    void run(Group group, Vector vector) throws InterruptedException {
        group.broadcast(vector, root);
    }

    @Override
    double expected(Group group, long count, long index) {
        return value(root, index);
    }

    @Override
    double busShare(int size) {
        return 1;
    }
}
