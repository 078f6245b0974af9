package org.rdmapanama.samples.collective;

import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.stream.IntStream;
import org.rdmapanama.testing.Lab;

/** The ranks of a group in this JVM, each with a thread and an arena of its own. */
final class Ranks implements AutoCloseable {
    static final Duration LIMIT = Duration.ofSeconds(30);
    static final GroupOptions OPTIONS = new GroupOptions(5, LIMIT, LIMIT);

    private final ExecutorService executor = Executors.newCachedThreadPool();
    private final List<Group> groups = new ArrayList<>();

    /** What a rank does. */
    @FunctionalInterface
    interface Body {
        void run(Group group) throws Exception;
    }

    /** What becomes of a rank. */
    @FunctionalInterface
    interface Ask<T> {
        T run(Group group) throws Exception;
    }

    static List<InetSocketAddress> addresses(int size) {
        return IntStream.range(0, size)
                .mapToObj(_ -> new InetSocketAddress(Lab.SECOND_HOST, Lab.port()))
                .toList();
    }

    Ranks(int size) throws Exception {
        this(size, OPTIONS);
    }

    Ranks(int size, GroupOptions options) throws Exception {
        List<InetSocketAddress> addresses = addresses(size);
        List<Future<Group>> joining = IntStream.range(0, size)
                .mapToObj(rank -> executor.submit(() -> Group.join(rank, addresses, options)))
                .toList();
        for (Future<Group> each : joining) {
            groups.add(each.get(LIMIT.toSeconds(), TimeUnit.SECONDS));
        }
    }

    Group group(int rank) {
        return groups.get(rank);
    }

    /** Runs something on all ranks at once. */
    void run(Body body) throws Exception {
        ask(group -> {
            body.run(group);
            return true;
        });
    }

    <T> List<T> ask(Ask<T> body) throws Exception {
        List<Future<T>> running = groups.stream()
                .map(each -> executor.submit(() -> body.run(each)))
                .toList();
        List<T> results = new ArrayList<>();
        for (Future<T> each : running) {
            try {
                results.add(each.get(2 * LIMIT.toSeconds(), TimeUnit.SECONDS));
            } catch (ExecutionException e) {
                throw new AssertionError("a rank failed: " + e.getCause(), e);
            }
        }
        return results;
    }

    /** Runs something that must fail on all ranks with a {@link CollectiveException}. */
    List<CollectiveException> fail(Body body) throws Exception {
        return ask(group -> {
            try {
                body.run(group);
            } catch (CollectiveException e) {
                return e;
            }
            throw new AssertionError("rank " + group.rank() + " has not failed");
        });
    }

    @Override
    public void close() {
        // Nobody needs the others for that.
        groups.forEach(Group::close);
        executor.shutdownNow();
    }
}
