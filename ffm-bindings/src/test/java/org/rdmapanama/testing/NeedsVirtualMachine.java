package org.rdmapanama.testing;

import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;
import org.junit.jupiter.api.Tag;

/**
 * An integration test that needs more than the lab's kernel as a process has: a second processor, huge pages, processor
 * times that are finer than a millisecond, or other modules. {@code lab/integration-tests} runs it in the virtual machine. On
 * other devices it runs with all others.
 */
@Target({ElementType.TYPE, ElementType.METHOD})
@Retention(RetentionPolicy.RUNTIME)
@Tag("virtual-machine")
public @interface NeedsVirtualMachine {
    /** What it needs. */
    String value();
}
