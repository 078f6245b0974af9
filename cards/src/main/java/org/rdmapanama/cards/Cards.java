package org.rdmapanama.cards;

import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemoryLayout;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.SymbolLookup;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.LongAdder;
import org.rdmapanama.ffm.internal.Errno;
import org.rdmapanama.internal.provider.ProviderContext;
import org.rdmapanama.soft.provider.SoftProvider;

/**
 * Network cards that exist in this process only, under the unmodified provider libraries of rdma-core: an instrument for
 * tests, and no card. The process must have been started with the library of interposer.c in LD_PRELOAD and with
 * SYSFS_PATH naming a folder, and {@code insert} must be called before any device is listed.
 */
public final class Cards {
    private static final ValueLayout.OfInt INT = ValueLayout.JAVA_INT;
    private static final ValueLayout.OfLong LONG = ValueLayout.JAVA_LONG;

    private static final SoftProvider SOFT = new SoftProvider();
    private static final Map<Integer, DeviceFile> FILES = new ConcurrentHashMap<>();
    private static final CardThread THREAD = new CardThread();
    private static final LongAdder CALLS = new LongAdder();

    /** The cards by the numbers of their device files. */
    private static volatile List<Card> cards = List.of();

    private Cards() {}

    /**
     * Makes libibverbs find a card.
     *
     * @param name its kind: {@code mlx5}, {@code efa} or {@code erdma}
     * @throws IllegalArgumentException if there is no card of this kind
     * @throws IllegalStateException if a card is in this process already, or LD_PRELOAD or SYSFS_PATH is not set
     */
    public static void insert(String name) {
        Card card = switch (name) {
            case "efa" -> new EfaCard();
            case "erdma" -> new ErdmaCard();
            case "mlx5" -> new Mlx5Card();
            default ->
                throw new IllegalArgumentException("there is no card " + name + ": it must be efa, erdma or mlx5");
        };
        insert(Path.of(environment("LD_PRELOAD")), Path.of(environment("SYSFS_PATH")), List.of(card));
    }

    private static String environment(String name) {
        String value = System.getenv(name);
        if (value == null) {
            throw new IllegalStateException("a card needs the environment variable " + name + ", which is not set");
        }
        return value;
    }

    /**
     * Makes libibverbs find the cards.
     *
     * @param interposer the library of interposer.c, as LD_PRELOAD names it
     * @param sysfs the folder that SYSFS_PATH names
     */
    private static synchronized void insert(Path interposer, Path sysfs, List<Card> all) {
        if (!cards.isEmpty()) {
            throw new IllegalStateException("the cards are in this process already: " + cards);
        }
        ProviderContext soft = openSoft();
        try {
            SysfsTree.write(sysfs, all, soft);
        } finally {
            soft.close();
        }
        install(interposer);
        cards = List.copyOf(all);
    }

    /**
     * Has the cards do nothing, so that their rings belong to a test or a benchmark; or go on. They must not go on with
     * rings that somebody else has completed.
     *
     * @param on whether they pause
     */
    public static void pause(boolean on) {
        THREAD.pause(on);
    }

    /**
     * Has a ConnectX or eRDMA card fail the next send or receive that it takes of a queue pair, as hardware that finds an
     * error. The queue pair then is in state ERR.
     *
     * @param queuePairNumber the number of the queue pair
     * @param receive whether it is a receive of its own receive queue, and not a send
     * @param syndrome the code of the error, from 0 to 255: {@code MLX5_CQE_SYNDROME_...}, or of eRDMA's {@code enum
     *     erdma_wc_status}
     * @param vendorError the second code of the hardware, from 0 to 255; eRDMA has none, and 0 stands for it
     * @throws IllegalArgumentException if no card has such a queue pair, or eRDMA is given a second code
     * @throws UnsupportedOperationException if it is of a card that injects no errors
     */
    public static void failNext(int queuePairNumber, boolean receive, int syndrome, int vendorError) {
        InjectedError error = new InjectedError(syndrome, vendorError);
        if (FILES.values().stream().noneMatch(file -> file.inject(queuePairNumber, receive, error))) {
            throw unknown(queuePairNumber);
        }
    }

    /**
     * Returns what a ConnectX card was given for a queue pair.
     *
     * @param queuePairNumber the number of the queue pair
     * @throws IllegalArgumentException if no card has such a queue pair
     * @throws UnsupportedOperationException if it is of a card that does not tell
     */
    public static GivenToCard given(int queuePairNumber) {
        return FILES.values().stream()
                .map(file -> file.given(queuePairNumber))
                .filter(Objects::nonNull)
                .findFirst()
                .orElseThrow(() -> unknown(queuePairNumber));
    }

    /**
     * Returns how many sends of a queue pair the card has found as a whole in a doorbell register (BlueFlame), the same as in
     * the ring. Those are all that were copied there, if the card was paused while they were posted, one at a time. A card
     * that is not paused may look at a register too early or too late.
     *
     * @param queuePairNumber the number of the queue pair
     * @return the number of sends; 0 on a card without such registers
     * @throws IllegalArgumentException if no card has such a queue pair
     */
    public static int takenFromRegister(int queuePairNumber) {
        return FILES.values().stream()
                .mapToInt(file -> file.takenFromRegister(queuePairNumber))
                .filter(count -> count >= 0)
                .findFirst()
                .orElseThrow(() -> unknown(queuePairNumber));
    }

    /**
     * Returns how often the driver of a card has called the kernel about its device so far: by open, write, ioctl, mmap and
     * close of the device file.
     *
     * @return the number of calls
     */
    public static long kernelCalls() {
        return CALLS.sum();
    }

    private static IllegalArgumentException unknown(int queuePairNumber) {
        return new IllegalArgumentException("no card has a queue pair with the number " + queuePairNumber);
    }

    private static ProviderContext openSoft() {
        return SOFT.open(SOFT.devices().getFirst());
    }

    @SuppressWarnings("restricted")
    private static void install(Path interposer) {
        Linker linker = Linker.nativeLinker();
        SymbolLookup library = SymbolLookup.libraryLookup(interposer, Arena.global());
        MethodHandle install = linker.downcallHandle(
                library.find("cards_install").orElseThrow(), FunctionDescriptor.ofVoid(LONG, LONG, LONG, LONG, LONG));
        try {
            install.invokeExact(
                    stub("opened", INT, INT).address(),
                    stub("written", INT, LONG, LONG).address(),
                    stub("controlled", INT, LONG, LONG).address(),
                    stub("mapped", INT, LONG, INT, LONG).address(),
                    stub("closed", INT).address());
        } catch (Throwable ex) {
            throw new IllegalStateException(ex);
        }
    }

    @SuppressWarnings("restricted")
    private static MemorySegment stub(String method, MemoryLayout... arguments) throws ReflectiveOperationException {
        FunctionDescriptor descriptor = FunctionDescriptor.of(LONG, arguments);
        MethodType type = descriptor.toMethodType();
        MethodHandle target = MethodHandles.lookup().findStatic(Cards.class, method, type);
        // An exception that left the stub would end the JVM.
        MethodHandle failed = MethodHandles.lookup()
                .findStatic(Cards.class, "failed", MethodType.methodType(long.class, Throwable.class));
        MethodHandle safe = MethodHandles.catchException(
                target, Throwable.class, MethodHandles.dropArguments(failed, 1, type.parameterList()));
        return Linker.nativeLinker().upcallStub(safe, descriptor, Arena.global());
    }

    private static long failed(Throwable ex) {
        ex.printStackTrace();
        return -Errno.EIO;
    }

    private static long opened(int descriptor, int device) {
        CALLS.increment();
        if (device >= cards.size()) {
            return -Errno.ENODEV;
        }
        DeviceFile file = new DeviceFile(cards.get(device), openSoft());
        FILES.put(descriptor, file);
        THREAD.add(file);
        return 0;
    }

    private static long written(int descriptor, long command, long length) {
        CALLS.increment();
        return FILES.get(descriptor).write(command, length);
    }

    private static long controlled(int descriptor, long request, long argument) {
        CALLS.increment();
        return request == Uverbs.CONTROL ? FILES.get(descriptor).control(argument) : -Errno.EINVAL;
    }

    @SuppressWarnings("UnusedVariable") // The signature is that of the library.
    private static long mapped(int descriptor, long length, int protection, long offset) {
        CALLS.increment();
        return FILES.get(descriptor).map(length, offset);
    }

    private static long closed(int descriptor) {
        CALLS.increment();
        DeviceFile file = FILES.remove(descriptor);
        THREAD.remove(file);
        file.close();
        return 0;
    }
}
