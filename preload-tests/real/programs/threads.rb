# Threads under Ruby: short lives, a queue between makers and takers, blocks
# that change hands, timeouts, thread kills, fibers and sleeping threads at exit.
require "timeout"

10.times { |r| puts (1..20).map { |i| Thread.new(i) { |x| "t" * x * r } }.sum { |t| t.value.size } }

q = SizedQueue.new(50)
makers = 4.times.map { |m| Thread.new { 2000.times { |i| q << [m, i.to_s * (i % 30)] } } }
total = 0
taker = Thread.new { 8000.times { total += q.pop[1].size } }
(makers << taker).each(&:join)
puts total

m, c, ready = Mutex.new, ConditionVariable.new, 0
ts = 10.times.map { Thread.new { m.synchronize { ready += 1; c.signal } } }
m.synchronize { c.wait(m) while ready < 10 }
ts.each(&:join)
puts ready

begin
  Timeout.timeout(0.05) { sleep 5 }
rescue Timeout::Error
  puts "timed out"
end
t = Thread.new { begin; sleep; ensure; puts "ensured"; end }
Thread.pass until t.stop?
t.kill
t.join

f = 500.times.map { |i| Fiber.new { Fiber.yield i; [i] * 100 } }
puts f.sum(&:resume), f.sum { |x| x.resume.size }
e = Enumerator.new { |y| n = 0; loop { y << (n += 1) } }
puts e.next, e.next, e.lazy.map { |x| x * x }.select(&:even?).first(3).inspect

Thread.new { sleep }
at_exit { puts "last words" }
