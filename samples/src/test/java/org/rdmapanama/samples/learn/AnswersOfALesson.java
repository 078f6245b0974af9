package org.rdmapanama.samples.learn;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.io.PrintWriter;
import java.io.Writer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.rdmapanama.Context;
import org.rdmapanama.VerbsArena;
import org.rdmapanama.samples.CaptureFile;
import org.rdmapanama.samples.PacketCapture;

/**
 * Runs answers to exercises as {@code bin/rdma learn --try} does, and fails if a prediction is not true. The bodies of the
 * methods are in docs/EXERCISES.md.
 */
@Timeout(value = 60, unit = TimeUnit.SECONDS)
@SuppressWarnings("CheckReturnValue") // objects that are only there
abstract class AnswersOfALesson extends Exercise {
    @TempDir
    private static Path folder;

    private Path packets;
    private VerbsArena arena;
    private int predictions;

    /** What the diagram must have. */
    private final List<Consumer<String>> ofPackets = new ArrayList<>();

    @BeforeEach
    void begin() throws IOException {
        System.setProperty(Lesson.PROBES, "false");
        packets = Files.createTempFile(folder, "answer", ".pcap");
        System.setProperty(PacketCapture.PROPERTY, packets.toString());
        arena = VerbsArena.ofShared();
        Context.open(arena, "soft0");
        board = new Board(new PrintWriter(Writer.nullWriter()));
    }

    @AfterEach
    void end() throws IOException {
        arena.close();
        PacketCapture.restore(null);
        System.clearProperty(Lesson.PROBES);
        assertTrue(predictions > 0, "an answer without a prediction");
        try (CaptureFile capture = new CaptureFile(packets)) {
            String diagram = PacketArrow.text(Diagram.of(capture, board.ends()));
            ofPackets.forEach(each -> each.accept(diagram));
        }
    }

    @Override
    void predict(Object predicted, Object observed) {
        predictions++;
        assertTrue(isSame(predicted, observed), () -> "predicted: " + predicted + ", but observed: " + observed);
    }

    @Override
    void predictPackets(int count, String text) {
        ofPackets.add(diagram -> assertEquals(count, lines(diagram, text), () -> text + " in\n" + diagram));
    }

    @Override
    void predictSomePackets(String text) {
        ofPackets.add(diagram -> assertTrue(lines(diagram, text) > 0, () -> text + " in\n" + diagram));
    }
}
