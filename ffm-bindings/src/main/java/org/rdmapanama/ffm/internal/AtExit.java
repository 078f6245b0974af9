package org.rdmapanama.ffm.internal;

import java.util.ArrayList;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;

/**
 * What the JVM does when it exits, in an order: shutdown hooks run side by side, so that a device could end connections while
 * data that was written before is on its way.
 *
 * <p>Threads: any.
 */
public final class AtExit {
    /** In which order the actions run. */
    public enum Stage {
        /** Ends what programs have left open, and waits until it has arrived. */
        CHANNELS,
        /** Ends the connections of devices. */
        DEVICES
    }

    /** Null until the first action is added. Guarded by the class. */
    private static Map<Stage, List<Runnable>> actions;

    private AtExit() {}

    /**
     * Adds an action. One that fails does not keep the others from running.
     *
     * @param stage when to run it
     * @param action must end in bounded time
     * @throws IllegalStateException when the JVM exits already
     */
    public static synchronized void add(Stage stage, Runnable action) {
        if (actions == null) {
            Runtime.getRuntime().addShutdownHook(new Thread(AtExit::run, "rdma-exit"));
            actions = new EnumMap<>(Stage.class);
        }
        actions.computeIfAbsent(stage, key -> new ArrayList<>()).add(action);
    }

    private static void run() {
        Throwable failure = null;
        for (Stage stage : Stage.values()) {
            for (Runnable each : of(stage)) {
                try {
                    each.run();
                } catch (RuntimeException | Error e) {
                    failure = failure == null ? e : failure;
                }
            }
        }
        if (failure instanceof Error error) {
            throw error;
        } else if (failure instanceof RuntimeException exception) {
            throw exception;
        }
    }

    private static synchronized List<Runnable> of(Stage stage) {
        return List.copyOf(actions.getOrDefault(stage, List.of()));
    }
}
