package org.rdmapanama.testing;

import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;
import org.junit.jupiter.api.Tag;

/**
 * An integration test that needs both processors for itself on {@code soft0}, because two sides poll or wake each other for
 * long, or because it measures processor times. {@code lab/integration-tests} runs it there after the others; in the lab, and
 * on other devices, it runs with all others.
 */
@Target(ElementType.METHOD)
@Retention(RetentionPolicy.RUNTIME)
@Tag("alone")
public @interface RunsAlone {}
