package org.rdmapanama.testing;

import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;
import org.junit.jupiter.api.Tag;

/**
 * An integration test of the virtual machine that needs both processors for itself, because two sides poll for long, or
 * because it compares processor times. {@code lab/integration-tests} runs it after all others, which run at the same time.
 */
@Target(ElementType.METHOD)
@Retention(RetentionPolicy.RUNTIME)
@Tag("alone")
public @interface RunsAlone {}
