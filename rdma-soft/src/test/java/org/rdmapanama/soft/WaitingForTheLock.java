package org.rdmapanama.soft;

import java.time.Duration;
import java.util.List;
import org.rdmapanama.ffm.waiting.Case;
import org.rdmapanama.ffm.waiting.CaseRunner;
import org.rdmapanama.ffm.waiting.Scene;
import org.rdmapanama.ffm.waiting.Stage;
import org.rdmapanama.ffm.waiting.WaitingCall;

/** Virtual threads that wait for the device's lock, which another one has that is not running. */
final class WaitingForTheLock {
    private static final Duration LIMIT_OF_ONE = Duration.ofSeconds(30);

    private WaitingForTheLock() {}

    public static void main(String[] arguments) {
        CaseRunner.run(cases(), LIMIT_OF_ONE, arguments);
    }

    static List<Case> cases() {
        return WaitingCall.cases(List.of(
                WaitingCall.uninterruptible("SpinLock.lock", stage -> lock(stage, false)),
                WaitingCall.uninterruptible(
                        "SpinLock.lock beside others that are interrupted", stage -> lock(stage, true))));
    }

    private static Scene lock(Stage stage, boolean besideOthers) {
        SpinLock lock = new SpinLock();
        Case.Body release = stage.hold("has it", lock::lock, lock::unlock);
        for (int i = 0; i < 3 && besideOthers; i++) {
            stage.start("other", () -> {
                Thread.currentThread().interrupt();
                lock.lock();
                lock.unlock();
                if (!Thread.interrupted()) {
                    throw new AssertionError("the interrupt is lost");
                }
            });
        }
        return Scene.of(
                () -> {
                    lock.lock();
                    lock.unlock();
                },
                release);
    }
}
