package org.rdmapanama.bench;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.ParameterException;

/** The place in a document where a benchmark writes its table: between two invisible lines. */
public final class MarkedTable {
    private static final String END = "<!-- end of what bin/bench wrote -->";

    private final CommandSpec spec;
    private final Path file;
    private final String begin;

    /**
     * Creates a table.
     *
     * @param spec the command, for messages
     * @param file the document
     * @param words what {@code bin/bench} is called with to write it
     */
    public MarkedTable(CommandSpec spec, Path file, String words) {
        this.spec = spec;
        this.file = file;
        begin = "<!-- written by bin/bench " + words + " -->";
    }

    /**
     * Checks that the file has the marks, before anything is measured.
     *
     * @throws ParameterException if they are missing
     * @throws IOException if the file cannot be read
     */
    public void check() throws IOException {
        marks(Files.readString(file));
    }

    private int[] marks(String text) {
        int first = text.indexOf(begin);
        int last = text.indexOf(END, Math.max(0, first));
        if (first < 0 || last < 0) {
            throw new ParameterException(
                    spec.commandLine(), file + " must have lines '" + begin + "' and '" + END + "' to write between");
        }
        return new int[] {first + begin.length(), last};
    }

    /**
     * Replaces the lines between the marks.
     *
     * @param lines the table
     * @throws IOException if the file cannot be read or written
     */
    public void write(List<String> lines) throws IOException {
        String text = Files.readString(file);
        int[] marks = marks(text);
        Files.writeString(
                file, text.substring(0, marks[0]) + "\n" + String.join("\n", lines) + "\n" + text.substring(marks[1]));
    }
}
