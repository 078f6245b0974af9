package org.rdmapanama.samples.learn;

import static java.nio.file.StandardOpenOption.READ;
import static java.nio.file.StandardOpenOption.WRITE;
import static org.rdmapanama.memory.AccessFlag.LOCAL_WRITE;
import static org.rdmapanama.memory.AccessFlag.REMOTE_WRITE;

import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.channels.FileChannel;
import java.nio.channels.FileChannel.MapMode;
import java.util.List;
import org.rdmapanama.MemoryRegion;
import org.rdmapanama.SendWorkRequest;
import org.rdmapanama.WorkCompletions;
import org.rdmapanama.memory.RemoteMemory;
import org.rdmapanama.samples.Failure;
import org.rdmapanama.samples.today.DirectFile;
import org.rdmapanama.samples.today.TransferMethod;

/** Lesson 0: A moves the same bytes to B in several ways, and the kernel counts what that takes. */
final class WhyRdma implements AutoCloseable {
    private static final int SIZE = 4 << 20;
    private static final int SMALL = 64;
    private static final int TIMES = 1000;

    private final Route route;
    private final TwoEnds ends;
    private final SendWorkRequest request;
    private final WorkCompletions completions;
    private final RemoteMemory memoryOfB;

    /** A mapped file, registered once. */
    private final MemoryRegion mapped;

    /** Memory into which the file is read past the page cache, registered once. */
    private final MemoryRegion buffer;

    /** Null if that is not possible here. */
    private final DirectFile direct;

    private WhyRdma(Board board, Route route) throws IOException {
        this.route = route;
        ends = new TwoEnds(board);
        request = SendWorkRequest.allocate(ends.arena, 1);
        completions = new WorkCompletions(ends.arena, 1);
        memoryOfB =
                ends.domain.register(route.memoryOfB, LOCAL_WRITE, REMOTE_WRITE).remote();
        mapped = ends.domain.register(map());
        buffer = ends.domain.register(route.allocate(SIZE));
        direct = route.directObstacle.isEmpty() ? new DirectFile(route.file) : null;
    }

    static void run(Board board) throws Exception {
        board.say("What copies the data, between two hosts with network cards:");
        board.picture("copies", "the copies of each way", new CopiesPicture(List.of(TransferMethod.values())));
        for (TransferMethod way : TransferMethod.values()) {
            board.say("");
            board.say(
                    "%s; copies by processors: %d, by DMA: %d",
                    way.title(), way.path().byCpu(), way.path().byDma());
            board.say("  %s", way.path().drawing());
        }
        board.say("");
        try (Route route = new Route(SIZE);
                WhyRdma lesson = new WhyRdma(board, route)) {
            lesson.moveInEachWay(board);
            board.say("");
            lesson.takeBothPaths(board);
        }
    }

    private void moveInEachWay(Board board) throws Exception {
        Tally tally = new Tally(board, "4 MiB, counted for the thread that sends");
        for (TransferMethod way : TransferMethod.values()) {
            if (way.isDirect() && direct == null) {
                tally.leaveOut(way.title(), "direct I/O: " + route.directObstacle);
                continue;
            }
            tally.count(way.title(), () -> move(way));
            route.check();
        }
        tally.end();
    }

    // excerpt
    private void move(TransferMethod way) throws IOException {
        switch (way) {
            case MEMORY -> route.write(route.memory.asByteBuffer());
            case READ_WRITE -> {
                try (FileChannel file = FileChannel.open(route.file)) {
                    while (file.read(route.piece.clear()) > 0) {
                        route.write(route.piece.flip());
                    }
                }
            }
            case MAP_WRITE -> route.write(map().asByteBuffer());
            case TRANSFER_TO -> {
                try (FileChannel file = FileChannel.open(route.file)) {
                    for (long sent = 0; sent < SIZE; ) {
                        sent += file.transferTo(sent, SIZE - sent, route.socket);
                    }
                }
            }
            case DIRECT_WRITE -> {
                for (long sent = 0; sent < SIZE; sent += route.piece.limit()) {
                    direct.read(route.piece.clear(), sent);
                    route.write(route.piece.flip());
                }
            }
            case RDMA_READY -> write(mapped, SIZE);
            case RDMA_REGISTER -> {
                try (MemoryRegion region = ends.domain.register(map())) {
                    write(region, SIZE);
                }
            }
            case RDMA_DIRECT -> {
                direct.read(buffer.memory().asByteBuffer(), 0);
                write(buffer, SIZE);
            }
        }
        if (!way.isRdma()) {
            route.awaitAnswer();
        }
    }

    private MemorySegment map() throws IOException {
        try (FileChannel file = FileChannel.open(route.file, READ, WRITE)) {
            return file.map(MapMode.READ_WRITE, 0, SIZE, Arena.ofAuto());
        }
    }

    private void write(MemoryRegion from, int bytes) {
        for (int offset = 0; offset < bytes; offset += Route.PIECE) {
            ends.a.postSend(request.clear()
                    .rdmaWrite(memoryOfB.slice(offset))
                    .add(from, offset, Math.min(bytes - offset, Route.PIECE))
                    .signaled(true));
            pollUntilDone();
        }
    }
    // end

    private void pollUntilDone() {
        Polling.await(ends.queueOfA, completions);
        if (!completions.succeeded(0)) {
            throw new Failure(completions.describe(0));
        }
    }

    private void takeBothPaths(Board board) throws Exception {
        Tally tally = new Tally(board, "soft0 (no part in the kernel), calling thread");
        tally.count("control path: create and connect two queue pairs", () -> new TwoEnds(board).close());
        tally.count(
                "control path: register 4 MiB",
                () -> ends.domain.register(route.memory).close());
        tally.count("data path: post and poll, 1000 times", () -> {
            for (int i = 0; i < TIMES; i++) {
                write(buffer, SMALL);
            }
        });
        tally.end();
    }

    @Override
    public void close() throws IOException {
        ends.close();
        if (direct != null) {
            direct.close();
        }
    }
}
