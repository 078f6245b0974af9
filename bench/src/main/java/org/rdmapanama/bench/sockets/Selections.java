package org.rdmapanama.bench.sockets;

import java.io.Closeable;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import org.rdmapanama.bench.Medians;

/** Measures selectors of few channels and of many, of a kind. */
final class Selections implements Closeable {
    static final int FEW = 10;

    private final String title;
    private final Selection few;
    private final Selection many;
    private final List<Double> ofFew = new ArrayList<>();
    private final List<Double> ofMany = new ArrayList<>();

    Selections(String title, Settings settings, int channels) throws IOException {
        this.title = title;
        few = new Selection(settings, FEW);
        many = new Selection(settings, channels);
    }

    static List<String> head(int channels) {
        return List.of(
                "| 64 B are written, selected and read | 1 of " + FEW + " channels, µs | 1 of " + channels
                        + " channels, µs |",
                "|---|---:|---:|");
    }

    void measure(int count, boolean counts) throws IOException {
        double first = few.micros(count);
        double second = many.micros(count);
        if (counts) {
            ofFew.add(first);
            ofMany.add(second);
        }
    }

    String row() {
        return String.format(Locale.ROOT, "| %s | %.1f | %.1f |", title, Medians.of(ofFew), Medians.of(ofMany));
    }

    @Override
    public void close() throws IOException {
        few.close();
        many.close();
    }
}
