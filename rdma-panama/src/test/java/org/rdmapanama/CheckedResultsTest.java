package org.rdmapanama;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.errorprone.annotations.CheckReturnValue;
import java.lang.reflect.Executable;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.util.List;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/** Results that must not be ignored are marked for compilers' checks. */
class CheckedResultsTest {
    private static boolean isMarked(Executable call) {
        return call.isAnnotationPresent(CheckReturnValue.class);
    }

    /** Whether something was done at all: what the methods without "try" report by an exception. */
    @Test
    void shouldMarkWhatTellsWhetherItWasDone() {
        List<Executable> tries = Api.calls().stream()
                .filter(call -> call instanceof Method method && method.getReturnType() != void.class)
                .filter(call -> call.getName().startsWith("try"))
                .toList();
        assertTrue(tries.stream().anyMatch(call -> call.getName().equals("tryPostSend")), tries::toString);
        assertEquals(List.of(), tries.stream().filter(call -> !isMarked(call)).toList());
    }

    /** An object that nobody has cannot be used, nor closed before its arena. */
    @Test
    void shouldMarkWhatReturnsANewObject() {
        Set<String> unmarked = Api.calls().stream()
                .filter(call ->
                        call instanceof Method method && AutoCloseable.class.isAssignableFrom(method.getReturnType()))
                .filter(call -> Modifier.isStatic(call.getModifiers())
                        || call.getName().matches("(create|allocate|open|register|import)[A-Z]?.*"))
                .filter(call -> call.getDeclaringClass() != VerbsArena.class && !isMarked(call))
                .map(Api::describe)
                .collect(Collectors.toSet());
        assertEquals(Set.of(), unmarked);
    }

    /** A program cannot name a type that is not exported. */
    @Test
    void shouldShowNoTypeThatIsNotExported() {
        Set<String> exported = Api.classes().stream().map(Class::getPackageName).collect(Collectors.toSet());
        Set<String> hidden = Api.calls().stream()
                .flatMap(call -> Stream.concat(
                        Stream.of(call.getParameterTypes()),
                        call instanceof Method method ? Stream.of(method.getReturnType()) : Stream.empty()))
                .map(type -> type.isArray() ? type.getComponentType() : type)
                .filter(type -> type.getName().startsWith("org.rdmapanama."))
                .filter(type -> !exported.contains(type.getPackageName()))
                .map(Class::getName)
                .collect(Collectors.toSet());
        assertEquals(Set.of(), hidden);
    }
}
