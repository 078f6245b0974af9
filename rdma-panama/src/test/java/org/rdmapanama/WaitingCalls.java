package org.rdmapanama;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.Callable;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Function;
import java.util.regex.Pattern;
import org.rdmapanama.completion.CompletionField;
import org.rdmapanama.event.AsyncEvent;
import org.rdmapanama.event.EventLoop;
import org.rdmapanama.ffm.waiting.Case;
import org.rdmapanama.ffm.waiting.CaseRunner;
import org.rdmapanama.ffm.waiting.Interrupts;
import org.rdmapanama.ffm.waiting.Scene;
import org.rdmapanama.ffm.waiting.Stage;
import org.rdmapanama.ffm.waiting.WaitingCall;
import org.rdmapanama.memory.AccessFlag;
import org.rdmapanama.memory.MemoryWindowType;
import org.rdmapanama.pool.RegisteredPool;
import org.rdmapanama.queue.QueuePairAttributes;
import org.rdmapanama.queue.QueuePairState;
import org.rdmapanama.queue.QueuePairType;
import org.rdmapanama.queue.SendOperation;
import org.rdmapanama.standin.RecordingProvider;
import org.rdmapanama.testing.ConnectedPair;
import org.rdmapanama.testing.LabDevices;
import org.rdmapanama.testing.Side;

/** Every call that waits, for something that completes or for another thread, to be made by virtual threads. */
@SuppressWarnings("CheckReturnValue") // objects that are only there
final class WaitingCalls {
    private static final Duration LONG = Duration.ofMinutes(5);
    private static final Duration LIMIT_OF_ONE = Duration.ofSeconds(90);

    /** They take memory for objects that devices here do not have: not to be called while they are open. */
    private static final Pattern OF_STAND_INS = Pattern.compile(
            "^(WorkQueue|Counters|FlowActionEsp|DeviceMemory|XrcDomain)\\.|ofNativeAddress|registerDeviceMemory|IndirectionTable");

    private static final Set<String> AWAITS =
            Set.of("CompletionChannel.await", "CompletionQueue.await", "Context.awaitAsyncEvent");

    private WaitingCalls() {}

    public static void main(String[] arguments) {
        CaseRunner.run(cases(), LIMIT_OF_ONE, arguments);
    }

    static List<Case> cases() {
        List<WaitingCall> calls = new ArrayList<>(ofEvents());
        calls.addAll(duringABatch());
        calls.addAll(behindAModify());
        calls.addAll(whileShut());
        calls.addAll(closingDuringABatch());
        calls.addAll(closingDuringACall());
        calls.addAll(draining());
        calls.addAll(opening());
        // The lab is slow, and interrupting again and again is to interrupt while it waits, too.
        List<Case> cases = new ArrayList<>(WaitingCall.cases(calls.stream()
                .map(call -> LabDevices.areNative() ? call.without(Interrupts.ONCE) : call)
                .toList()));
        // C knows nothing of interrupts, and there are many.
        if (!LabDevices.areNative()) {
            cases.add(new Case("every use by a thread that is interrupted", WaitingCalls::useEverythingInterrupted));
        }
        // Here, too: a virtual machine takes long to start where it is emulated.
        cases.addAll(SharedArenaFuzz.cases());
        return cases;
    }

    private static ConnectedPair pair(Stage stage) {
        return stage.keep(
                ConnectedPair.of(QueuePairType.RC).in(VerbsArena.ofShared()).open());
    }

    /** All queues are extended ones. */
    private static ConnectedPair extendedPair(Stage stage) {
        return stage.keep(ConnectedPair.of(QueuePairType.RC)
                .in(VerbsArena.ofShared())
                .extended(CompletionField.QP_NUM)
                .extended(SendOperation.SEND, SendOperation.RDMA_WRITE)
                .open());
    }

    private static List<WaitingCall> ofEvents() {
        return List.of(
                WaitingCall.interruptible("CompletionChannel.await", stage -> {
                    ConnectedPair pair = pair(stage);
                    pair.a.queue.requestNotification(false);
                    return new Scene(() -> pair.a.channel.await(LONG), () -> pair.a.post(pair.writeToB(1, 0, 8)))
                            .checking(queue -> assertSame(pair.a.queue, queue));
                }),
                WaitingCall.interruptible("CompletionQueue.await", stage -> {
                    ConnectedPair pair = pair(stage);
                    WorkCompletions completions = new WorkCompletions(pair.a.arena, 4);
                    return new Scene(
                                    () -> pair.a.queue.await(completions, LONG),
                                    () -> pair.a.post(pair.writeToB(1, 0, 8)))
                            .checking(count -> assertEquals(1, count));
                }),
                WaitingCall.interruptible("PollCursor.await", stage -> {
                    ConnectedPair pair = extendedPair(stage);
                    SendWorkRequest write = pair.writeToB(1, 0, 8);
                    return new Scene(
                                    () -> {
                                        try (PollCursor cursor =
                                                pair.a.extended().poll()) {
                                            return cursor.await(LONG, Duration.ZERO);
                                        }
                                    },
                                    () -> pair.a.post(write))
                            .checking(begun -> assertEquals(true, begun));
                }),
                WaitingCall.interruptible("EventLoop.await", stage -> {
                    ConnectedPair pair = pair(stage);
                    EventLoop loop = stage.keep(new EventLoop());
                    loop.add(pair.a.channel, null);
                    pair.a.queue.requestNotification(false);
                    return new Scene(() -> loop.await(LONG), () -> pair.a.post(pair.writeToB(1, 0, 8)))
                            .checking(ready -> assertEquals(1, ready));
                }),
                WaitingCall.interruptible("Context.awaitAsyncEvent", stage -> {
                    ConnectedPair pair = pair(stage);
                    QueuePairAttributes draining =
                            new QueuePairAttributes().state(QueuePairState.SQD).notifyWhenDrained(true);
                    return new Scene(
                                    () -> pair.a.context.awaitAsyncEvent(LONG), () -> pair.a.queuePair.modify(draining))
                            .checking(event -> assertSame(
                                    pair.a.queuePair, ((AsyncEvent) ((Optional<?>) event).orElseThrow()).source()));
                }));
    }

    /** A thread has a batch open on the queue until it is released, and does something before it ends it. */
    private static Case.Body holdBatch(Stage stage, ExtendedCompletionQueue queue, Case.Body last) throws Exception {
        return stage.hold(
                "batch",
                () -> {
                    while (!queue.startPoll()) {
                        Thread.sleep(1);
                    }
                },
                () -> {
                    last.run();
                    queue.endPoll();
                });
    }

    private static Case.Body holdBatch(Stage stage, ConnectedPair pair) throws Exception {
        pair.a.post(pair.writeToB(1, 0, 8));
        return holdBatch(stage, pair.a.extended(), () -> {});
    }

    private static QueuePairAttributes to(QueuePairState state) {
        return new QueuePairAttributes().state(state);
    }

    private static QueuePairOptions options(CompletionQueue sends, CompletionQueue receives) {
        return new QueuePairOptions(QueuePairType.RC, sends, receives);
    }

    private static Callable<?> call(Case.Body body) {
        return () -> {
            body.run();
            return null;
        };
    }

    /** What clears a completion queue while another thread is in a batch of it. */
    private static List<WaitingCall> duringABatch() {
        List<WaitingCall> calls = new ArrayList<>();
        for (QueuePairState state : List.of(QueuePairState.ERR, QueuePairState.RESET)) {
            calls.add(WaitingCall.uninterruptible("QueuePair.modify to " + state + " during a batch", stage -> {
                ConnectedPair pair = extendedPair(stage);
                Case.Body release = holdBatch(stage, pair);
                return Scene.of(() -> pair.a.queuePair.modify(to(state)), release)
                        .checking(nothing -> assertEquals(state, pair.a.queuePair.state()));
            }));
        }
        calls.add(WaitingCall.uninterruptible("QueuePair.modify during a batch while others post", stage -> {
            ConnectedPair pair = extendedPair(stage);
            Case.Body release = holdBatch(stage, pair);
            CountDownLatch over = new CountDownLatch(1);
            for (int i = 0; i < 3; i++) {
                SendWorkRequest write = pair.writeToB(2, 0, 8);
                stage.start("poster", () -> {
                    while (over.getCount() > 0) {
                        pair.a.queuePair.tryPostSend(write);
                        Thread.sleep(1);
                    }
                });
            }
            return Scene.of(
                    () -> {
                        try {
                            pair.a.queuePair.modify(to(QueuePairState.ERR));
                        } finally {
                            over.countDown();
                        }
                    },
                    release);
        }));
        calls.add(WaitingCall.uninterruptible("createQueuePair during a batch", stage -> {
            ConnectedPair pair = extendedPair(stage);
            Case.Body release = holdBatch(stage, pair);
            return new Scene(() -> pair.a.domain.createQueuePair(options(pair.a.queue, pair.a.queue)), release);
        }));
        calls.add(WaitingCall.uninterruptible("createQueuePair during a batch that registers memory", stage -> {
            ConnectedPair pair = extendedPair(stage);
            pair.a.post(pair.writeToB(1, 0, 8));
            Case.Body release = holdBatch(
                    stage,
                    pair.a.extended(),
                    () -> pair.a.domain.register(pair.a.arena.allocate(4096), AccessFlag.LOCAL_WRITE));
            return new Scene(() -> pair.a.domain.createQueuePair(options(pair.a.queue, pair.a.queue)), release);
        }));
        return calls;
    }

    /** What uses a queue pair while another thread changes it, which waits for a batch. */
    private static List<WaitingCall> behindAModify() {
        Map<String, Function<ConnectedPair, Callable<?>>> uses = new LinkedHashMap<>();
        uses.put("postSend", pair -> {
            SendWorkRequest write = pair.writeToB(2, 0, 8);
            return call(() -> pair.a.queuePair.postSend(write));
        });
        uses.put(
                "startWorkRequests",
                pair -> call(() -> {
                    try (WorkRequestBuilder batch = pair.a.batch()) {
                        batch.send();
                    }
                }));
        uses.put("bind", pair -> {
            MemoryWindow window = pair.a.domain.allocateMemoryWindow(MemoryWindowType.TYPE_1);
            MemoryRegion region = pair.a.domain.register(pair.a.memory, AccessFlag.LOCAL_WRITE, AccessFlag.MW_BIND);
            MemoryWindowBinding part = new MemoryWindowBinding(region, 0, 64, AccessFlag.REMOTE_WRITE);
            return call(() -> pair.a.queuePair.bind(window, part, 2, true));
        });
        uses.put("modify", pair -> call(() -> pair.a.queuePair.modify(to(QueuePairState.ERR))));
        List<WaitingCall> calls = new ArrayList<>();
        uses.forEach((name, use) ->
                calls.add(WaitingCall.uninterruptible(name + " while another thread modifies", stage -> {
                    ConnectedPair pair = extendedPair(stage);
                    Callable<?> call = use.apply(pair);
                    Case.Body release = holdBatch(stage, pair);
                    stage.start("modify", () -> pair.a.queuePair.modify(to(QueuePairState.ERR)));
                    // This one need not wait as long as that.
                    return new Scene(call, release).briefly();
                })));
        return calls;
    }

    /** Two queues of one queue pair, which is connected to itself: the one that is shut first, and the other one. */
    private record TwoQueues(Side side, ExtendedCompletionQueue first, ExtendedCompletionQueue second, QueuePair both) {
        static TwoQueues on(Side side) {
            CompletionQueueOptions options = new CompletionQueueOptions(64);
            ExtendedCompletionQueue one = side.context.createCompletionQueue(options);
            ExtendedCompletionQueue other = side.context.createCompletionQueue(options);
            boolean inOrder = one.nativeAddress() < other.nativeAddress();
            ExtendedCompletionQueue first = inOrder ? one : other;
            ExtendedCompletionQueue second = inOrder ? other : one;
            QueuePair both = side.domain.createQueuePair(options(second, first));
            both.connect(both.localEndpoint(LabDevices.connectOptions()));
            return new TwoQueues(side, first, second, both);
        }

        /** Something completes on the second one. */
        void complete() {
            SendWorkRequest write = side.request(1, 0, 8).rdmaWrite(side.region.address(), side.region.rkey());
            both.postSend(write);
        }
    }

    /** What uses a queue that is shut because something that reports there closes, which waits for another queue. */
    private static List<WaitingCall> whileShut() {
        Map<String, Function<TwoQueues, Callable<?>>> uses = new LinkedHashMap<>();
        uses.put("poll", queues -> {
            WorkCompletions completions = new WorkCompletions(queues.side.arena, 4);
            return () -> queues.first.poll(completions);
        });
        uses.put("startPoll", queues -> queues.first::startPoll);
        uses.put("requestNotification", queues -> call(() -> queues.first.requestNotification(false)));
        uses.put("resize", queues -> call(() -> queues.first.resize(128)));
        uses.put("modify", queues -> {
            QueuePair other = queues.side.domain.createQueuePair(options(queues.first, queues.first));
            return call(() -> other.modify(to(QueuePairState.RESET)));
        });
        uses.put("close", queues -> call(queues.first::close));
        uses.put("register", queues -> () -> queues.side.domain.register(queues.side.memory, AccessFlag.LOCAL_WRITE));
        uses.put("allocateProtectionDomain", queues -> queues.side.context::allocateProtectionDomain);
        List<WaitingCall> calls = new ArrayList<>();
        uses.forEach((name, use) ->
                calls.add(WaitingCall.uninterruptible(name + " while a queue pair closes", stage -> {
                    TwoQueues queues = TwoQueues.on(pair(stage).a);
                    Callable<?> call = use.apply(queues);
                    queues.complete();
                    Case.Body release = holdBatch(stage, queues.second, () -> {});
                    stage.start("close", queues.both::close);
                    return new Scene(call, release).briefly();
                })));
        return calls;
    }

    private static Map<String, Function<Side, AutoCloseable>> closed() {
        Map<String, Function<Side, AutoCloseable>> closed = new LinkedHashMap<>();
        closed.put("CompletionQueue", side -> side.queue);
        closed.put("CompletionChannel", side -> side.channel);
        closed.put("QueuePair", side -> side.queuePair);
        closed.put("ProtectionDomain", side -> side.domain);
        closed.put("Context", side -> side.context);
        closed.put("VerbsArena", side -> side.arena);
        return closed;
    }

    private static List<WaitingCall> closingDuringABatch() {
        List<WaitingCall> calls = new ArrayList<>();
        closed().forEach((name, object) -> {
            calls.add(WaitingCall.uninterruptible(name + ".close during a batch of completions", stage -> {
                ConnectedPair pair = extendedPair(stage);
                Case.Body release = holdBatch(stage, pair);
                AutoCloseable closing = object.apply(pair.a);
                return Scene.of(closing::close, release);
            }));
            if (name.equals("QueuePair") || name.equals("VerbsArena")) {
                calls.add(WaitingCall.uninterruptible(name + ".close during a batch of work requests", stage -> {
                    ConnectedPair pair = extendedPair(stage);
                    ExtendedQueuePair queuePair = (ExtendedQueuePair) pair.a.queuePair;
                    WorkRequestBuilder[] batch = new WorkRequestBuilder[1];
                    Case.Body release =
                            stage.hold("batch", () -> batch[0] = queuePair.startWorkRequests(), () -> batch[0].abort());
                    AutoCloseable closing = object.apply(pair.a);
                    return Scene.of(closing::close, release);
                }));
            }
        });
        calls.add(WaitingCall.uninterruptible("CompletionQueue.close during a batch that does not end", stage -> {
                    ConnectedPair pair = extendedPair(stage);
                    Case.Body release = holdBatch(stage, pair);
                    return Scene.of(
                            () -> {
                                try {
                                    assertThrows(IllegalStateException.class, pair.a.queue::close);
                                    assertTrue(pair.a.queue.isOpen());
                                } finally {
                                    release.run();
                                }
                            },
                            () -> {});
                })
                .only(Interrupts.BEFORE));
        return calls;
    }

    private static List<WaitingCall> closingDuringACall() {
        Map<String, Function<Side, VerbsObject>> used = new LinkedHashMap<>();
        used.put("CompletionQueue", side -> side.queue);
        used.put("CompletionChannel", side -> side.channel);
        used.put("ExtendedQueuePair", side -> side.queuePair);
        used.put("MemoryRegion", side -> side.region);
        used.put("ProtectionDomain", side -> side.domain);
        used.put("Context", side -> side.context);
        List<WaitingCall> calls = new ArrayList<>();
        used.forEach((name, object) -> calls.add(WaitingCall.uninterruptible(name + ".close during a call", stage -> {
            VerbsObject closing = object.apply(extendedPair(stage).a);
            return Scene.of(closing::close, stage.hold("call", closing::enter, closing::exit));
        })));
        calls.add(WaitingCall.uninterruptible("VerbsArena.close during a call", stage -> {
            ConnectedPair pair = extendedPair(stage);
            QueuePair queuePair = pair.a.queuePair;
            return Scene.of(pair.a.arena::close, stage.hold("call", queuePair::enter, queuePair::exit));
        }));
        calls.add(WaitingCall.uninterruptible("RegisteredPool.close during a call", stage -> {
            RegisteredPool pool = RegisteredPool.create(pair(stage).a.domain, 8192);
            return Scene.of(pool::close, stage.hold("call", pool.region()::enter, pool.region()::exit));
        }));
        calls.add(WaitingCall.uninterruptible("CompletionChannel.close while others await", stage -> {
            ConnectedPair pair = pair(stage);
            stage.start("waiting", () -> assertThrows(IllegalStateException.class, () -> pair.a.channel.await(LONG)));
            return Scene.of(pair.a.channel::close, () -> {}).briefly();
        }));
        calls.add(WaitingCall.uninterruptible("Context.close while others await", stage -> {
            ConnectedPair pair = pair(stage);
            stage.start(
                    "waiting",
                    () -> assertThrows(IllegalStateException.class, () -> pair.a.context.awaitAsyncEvent(LONG)));
            return Scene.of(pair.a.context::close, () -> {}).briefly();
        }));
        return calls;
    }

    /** Keeps completions back. */
    private static final class Late extends RecordingProvider {
        private final AtomicBoolean open = new AtomicBoolean();

        Late() {
            super(RecordingProvider.of(LabDevices.first()));
        }

        @Override
        public int pollCompletionQueue(long completionQueue, int capacity, long completions) {
            return open.get() ? super.pollCompletionQueue(completionQueue, capacity, completions) : 0;
        }
    }

    private static Scene closeWithWork(Stage stage, Case.Body release, Late provider) {
        ConnectedPair pair = stage.keep(ConnectedPair.of(QueuePairType.RC)
                .in(VerbsArena.ofShared())
                .through(own -> Context.open(own, LabDevices.first(), () -> provider))
                .open());
        pair.a.post(pair.a.receiveRequest(1, 0, 8));
        pair.a.post(pair.writeToB(2, 0, 8));
        return Scene.of(pair.a.arena::close, release);
    }

    private static List<WaitingCall> draining() {
        return List.of(
                WaitingCall.uninterruptible("VerbsArena.close with outstanding work", stage -> {
                    Late provider = new Late();
                    return closeWithWork(stage, () -> provider.open.set(true), provider);
                }),
                WaitingCall.uninterruptible(
                                "VerbsArena.close with work that does not complete",
                                stage -> closeWithWork(stage, () -> {}, new Late()))
                        .only(Interrupts.BEFORE));
    }

    private static List<WaitingCall> opening() {
        return List.of(WaitingCall.uninterruptible("Context.open and close", stage -> {
            // The first time classes are initialized, which keeps the carrier.
            String name = LabDevices.first().name();
            return Scene.of(
                            () -> {
                                try (VerbsArena arena = VerbsArena.ofShared()) {
                                    assertTrue(Context.open(arena, name).isOpen());
                                }
                            },
                            () -> {})
                    .briefly();
        }));
    }

    /** Whatever does not wait takes no notice of an interrupt. */
    private static void useEverythingInterrupted() throws Exception {
        List<String> failures = new ArrayList<>();
        for (Uses.Use use : Uses.ALL) {
            if (OF_STAND_INS.matcher(use.name()).find()) {
                continue;
            }
            String found = used(use, true);
            // What waits looks first whether it is interrupted.
            boolean right = AWAITS.contains(use.name())
                    ? found.equals("InterruptedException, not interrupted")
                    : found.equals("returned, interrupted")
                            || found.equals(used(use, false).replace("not interrupted", "interrupted"));
            if (!right) {
                failures.add(use.name() + ": " + found);
            }
        }
        assertEquals(List.of(), failures);
    }

    private static String used(Uses.Use use, boolean interrupted) throws Exception {
        try (ConnectedPair pair =
                ConnectedPair.of(QueuePairType.RC).in(VerbsArena.ofShared()).open()) {
            String[] outcome = new String[1];
            Thread thread = Thread.ofVirtual().start(() -> {
                Uses.Prepared prepared = use.prepare(pair.a);
                if (interrupted) {
                    Thread.currentThread().interrupt();
                }
                try {
                    prepared.run();
                    outcome[0] = "returned";
                } catch (Throwable e) {
                    outcome[0] = e.getClass().getSimpleName();
                }
                outcome[0] += Thread.interrupted() ? ", interrupted" : ", not interrupted";
            });
            thread.join();
            return outcome[0];
        }
    }
}
