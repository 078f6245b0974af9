package org.rdmapanama.ffm.waiting;

import java.io.PrintStream;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.function.Supplier;

/** Runs cases, one after the other, in a process of its own, and says on its output what came of each. */
public final class CaseRunner {
    static final String RUNS = "@@ runs ";
    static final String PASSED = "@@ passed ";
    static final String FAILED = "@@ failed ";
    static final String ENDED = "@@ ended";

    /** Not the shell's, nor one of the virtual machine. */
    private static final int HANGS = 88;

    private static final Duration PAUSE = Duration.ofMillis(100);

    private static final PrintStream OUT = System.out;

    /** What runs now, or null. Guarded by the class. */
    private static String running;

    /** Guarded by the class. */
    private static long since;

    /** What else to tell when the case that runs hangs. Guarded by the class. */
    private static Supplier<String> description = () -> "";

    private CaseRunner() {}

    /**
     * To be called by main.
     *
     * @param limit of one case
     * @param arguments the index of the first case
     */
    public static void run(List<Case> cases, Duration limit, String... arguments) {
        Thread.ofPlatform().daemon().name("watchdog").start(() -> watch(limit));
        for (Case each : cases.subList(Integer.parseInt(arguments[0]), cases.size())) {
            run(each);
        }
        System.exit(0);
    }

    private static void run(Case each) {
        begin(each.name());
        try {
            each.body().run();
            end(PASSED + each.name());
        } catch (Throwable e) {
            StringWriter stack = new StringWriter();
            e.printStackTrace(new PrintWriter(stack));
            failed(stack.toString());
        }
    }

    private static synchronized void begin(String name) {
        say(RUNS + name);
        running = name;
        description = () -> "";
        since = System.nanoTime();
    }

    /** What the case that runs tells of itself when it hangs. */
    public static synchronized void onHang(Supplier<String> text) {
        description = text;
    }

    private static synchronized void end(String line) {
        running = null;
        say(line);
    }

    private static synchronized void failed(String text) {
        end(FAILED + running + "\n" + text.strip() + "\n" + ENDED);
    }

    private static void say(String text) {
        OUT.println(text);
        OUT.flush();
    }

    /** Something does not end. What was started cannot be ended, and neither can the process, but by force. */
    public static AssertionError hangs(String what) {
        String stacks = Stacks.ofOurs();
        synchronized (CaseRunner.class) {
            failed(what + description.get() + "\n\n" + stacks);
            Runtime.getRuntime().halt(HANGS);
        }
        return new AssertionError(what);
    }

    /** What hangs where nobody looks: while a scene is set up, or objects are closed. */
    private static void watch(Duration limit) {
        CountDownLatch never = new CountDownLatch(1);
        while (!Latches.await(never, PAUSE)) {
            if (isLate(limit)) {
                throw hangs("it takes longer than " + limit.toSeconds() + " seconds");
            }
        }
    }

    private static synchronized boolean isLate(Duration limit) {
        return running != null && System.nanoTime() - since > limit.toNanos();
    }
}
