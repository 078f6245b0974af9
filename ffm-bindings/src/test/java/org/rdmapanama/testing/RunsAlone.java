package org.rdmapanama.testing;

import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;
import org.junit.jupiter.api.Tag;

/**
 * An integration test with {@link NeedsVirtualMachine} that needs both processors for itself, because two sides poll for
 * long, or because it compares processor times. {@code lab/integration-tests} runs it after the others, which run at the same
 * time as those in kernels as processes. On other devices it runs with all others.
 */
@Target(ElementType.METHOD)
@Retention(RetentionPolicy.RUNTIME)
@Tag("alone")
public @interface RunsAlone {}
