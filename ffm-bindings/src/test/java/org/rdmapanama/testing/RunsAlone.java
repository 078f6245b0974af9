package org.rdmapanama.testing;

import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;
import org.junit.jupiter.api.Tag;

/**
 * An integration test that needs both processors for itself, because two sides poll or wake each other for long, because it
 * compares processor times, or because a second must be long enough for what it does. {@code lab/integration-tests} runs it
 * after the others on {@code soft0}, and, with {@link NeedsVirtualMachine}, in the lab; elsewhere it runs with all others.
 */
@Target(ElementType.METHOD)
@Retention(RetentionPolicy.RUNTIME)
@Tag("alone")
public @interface RunsAlone {}
