package org.rdmapanama.samples.learn;

import java.io.IOException;
import java.io.PrintWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import org.rdmapanama.Context;
import org.rdmapanama.VerbsArena;
import org.rdmapanama.samples.CaptureFile;
import org.rdmapanama.samples.PacketCapture;

/** The lessons, in order. */
enum Lesson {
    WHY("why RDMA", WhyRdma::run),
    STATES("queue pairs and their states", QueuePairsAndStates::run),
    MEMORY("memory and its keys", MemoryAndKeys::run),
    SEND("send and receive", SendAndReceive::run),
    WRITE("write and read", WriteAndRead::run),
    ATOMICS("atomics", Atomics::run),
    COMPLETIONS("completion queues and events", CompletionsAndEvents::run),
    WRONG("what goes wrong", WhatGoesWrong::run),
    ADDRESS("connections by address", ConnectionByAddress::run),
    COMMIT("a replicated log: commit by writing", CommitByWriting::run),
    TAKEOVER("a replicated log: taking over", TakingOver::run),
    RING("ring all-reduce", RingAllReduce::run),
    STRUCTURES("structures that others read", OneSidedStructures::run),
    TRANSFER("a whole transfer, in two processes", WholeTransfer::run),
    LENDING("lending memory safely", LendingMemory::run),
    CHOICES("what makes it faster", Choices::run),
    LOSSLESS("why lossless", LossAndMarking::run);

    /** How long the code of lessons waits. */
    static final Duration LIMIT = Duration.ofSeconds(20);

    /** A property of soft0: {@code false} if packets are not to be repeated whenever the machine is busy. */
    static final String PROBES = "org.rdmapanama.soft.probes";

    /** The line before the packets. */
    static final String PACKETS = "The packets:";

    /** The name of the picture of the packets. */
    static final String PACKETS_PICTURE = "packets";

    private final String title;
    private final Body body;

    /** The code of a lesson. */
    @FunctionalInterface
    interface Body {
        void run(Board board) throws Exception;
    }

    Lesson(String title, Body body) {
        this.title = title;
        this.body = body;
    }

    /** Returns the number of the lesson, from 0. */
    int number() {
        return ordinal();
    }

    /** Returns whether the lesson shows packets: of those that measure there would be thousands. */
    boolean hasPackets() {
        return this != WHY && this != CHOICES && this != LOSSLESS;
    }

    String title() {
        return title;
    }

    /**
     * Runs the lesson on soft0, and prints what happens, followed by the packets if it has any, and by their headers if these
     * are wanted; also if the lesson fails. Returns the pictures.
     */
    List<Picture> run(PrintWriter out, boolean headers) throws Exception {
        return run(out, headers, body);
    }

    /** The same with other code, such as that of one side of the lesson. */
    List<Picture> run(PrintWriter out, boolean headers, Body code) throws Exception {
        out.println("Lesson " + number() + ": " + title);
        out.println();
        if (!hasPackets()) {
            Board board = new Board(out);
            run(board, code);
            out.flush();
            return board.pictures();
        }
        return runWithPackets(out, headers, code);
    }

    /** Runs any code on soft0, and prints what it says, followed by the packets. Returns the pictures. */
    static List<Picture> runWithPackets(PrintWriter out, boolean headers, Body code) throws Exception {
        String given = System.getProperty(PacketCapture.PROPERTY);
        if (given != null && !given.isEmpty()) {
            return run(out, Path.of(given), headers, code);
        }
        Path capture = Files.createTempFile("lesson", ".pcap");
        System.setProperty(PacketCapture.PROPERTY, capture.toString());
        try {
            PacketCapture.begin(capture);
            return run(out, capture, headers, code);
        } finally {
            PacketCapture.restore(null);
            Files.delete(capture);
        }
    }

    private static List<Picture> run(PrintWriter out, Path packets, boolean headers, Body code) throws Exception {
        Board board = new Board(out);
        try {
            run(board, code);
        } catch (InterruptedException e) {
            throw e;
        } catch (Exception e) {
            // The packets may show why.
            try {
                draw(board, packets, headers, out);
            } catch (IOException | RuntimeException more) {
                e.addSuppressed(more);
            }
            throw e;
        }
        draw(board, packets, headers, out);
        return board.pictures();
    }

    private static void draw(Board board, Path packets, boolean headers, PrintWriter out) throws IOException {
        out.println();
        out.println(PACKETS);
        out.println();
        try (CaptureFile capture = new CaptureFile(packets)) {
            List<PacketArrow> arrows = Diagram.of(capture, board.ends());
            out.print(PacketArrow.shortText(arrows));
            if (!arrows.isEmpty()) {
                board.picture(PACKETS_PICTURE, "its packets, from the first one down", new PacketPicture(arrows));
            }
            if (headers) {
                out.println();
                out.println("The first packet of each kind:");
                out.print(Headers.of(capture, board.ends()));
                out.println();
                out.print(EqualCostPaths.table());
            }
            board.drawn(PacketArrow.text(arrows));
        }
        out.flush();
    }

    @SuppressWarnings("CheckReturnValue") // the device is only open
    private static void run(Board board, Body code) throws Exception {
        // Otherwise packets would be repeated whenever the machine is busy.
        System.setProperty(PROBES, "false");
        try (VerbsArena arena = VerbsArena.ofShared()) {
            // Stays open, so that no queue pair number is used twice.
            Context.open(arena, "soft0");
            code.run(board);
        } finally {
            System.clearProperty(PROBES);
        }
    }
}
