package org.rdmapanama.ffm;

import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;
import org.junit.jupiter.api.extension.ConditionEvaluationResult;
import org.junit.jupiter.api.extension.ExecutionCondition;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.api.extension.ExtensionContext;
import org.junit.platform.commons.support.AnnotationSupport;
import org.rdmapanama.testing.Lab;

/**
 * A test that only runs on devices that the kernel has, because it uses something besides this library that must know
 * the device. On a device that is in this process only, as {@code soft0}, it is skipped.
 */
@Retention(RetentionPolicy.RUNTIME)
@Target({ElementType.TYPE, ElementType.METHOD})
@ExtendWith(NeedsKernelDevice.Condition.class)
public @interface NeedsKernelDevice {
    /** What it is that must know the device, such as {@code librdmacm}. */
    String value();

    /** Looks at the device that the environment variable RDMA_DEVICE names; without it tests run in the lab. */
    final class Condition implements ExecutionCondition {
        /** Whether the kernel has the device that tests use. */
        public static boolean isMet() {
            return Lab.isInLab() || (Lab.isInKernel(Lab.FIRST_DEVICE) && !Lab.isCard());
        }

        /** Why it is not met. */
        public static String reason(String who) {
            return Lab.FIRST_DEVICE + " is in this process only: " + who + " does not know it";
        }

        @Override
        public ConditionEvaluationResult evaluateExecutionCondition(ExtensionContext context) {
            return context.getElement()
                    .flatMap(element -> AnnotationSupport.findAnnotation(element, NeedsKernelDevice.class))
                    .filter(needs -> !isMet())
                    .map(needs -> ConditionEvaluationResult.disabled(reason(needs.value())))
                    .orElse(ConditionEvaluationResult.enabled("the kernel has the device"));
        }
    }
}
