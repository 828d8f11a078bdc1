-- Fills the shop's tables in a few statements. The setting `shop.orders` says how many orders. There are
-- ten orders for each customer, two lines for each order, and a product for each hundred orders.

select setseed(0.42);

insert into shop.customers
select i,
  (array['Ann', 'Bob', 'Carla', 'Dina', 'Emil', 'Farah', 'Göran', 'Hana', 'Ivo', 'José', 'Kim', 'Lena'])[1 + floor(random() * 12)]
    || ' ' || (array['Miller', 'Milner', 'Smith', 'Jones', 'Øster', 'García', 'Okafor', 'Tanaka', 'Novak', 'Weber'])[1 + floor(random() * 10)],
  'customer' || i || '@example.org',
  (array['Bergen', 'Lima', 'Osaka', 'Turin', null])[1 + floor(random() * 5)]
from generate_series(1, greatest(20, current_setting('shop.orders')::int / 10)) i;

insert into shop.products
select i, 'Product ' || i, 100 + floor(random() * 9900), 20 + floor(random() * 200), case when random() < 0.9 then 30 end
from generate_series(1, greatest(20, current_setting('shop.orders')::int / 100)) i;

insert into shop.orders
select i, 1 + floor(random() * (select count(*) from shop.customers)),
  (array['open', 'paid', 'sent', 'sent', 'sent', 'cancelled'])[1 + floor(random() * 6)]::shop.order_status,
  date '2024-01-01' + floor(random() * 365)::int
from generate_series(1, current_setting('shop.orders')::int) i;

insert into shop.order_lines (order_id, line_no, product_id, quantity, price_cents)
select o.id, n, 1 + floor(random() * (select count(*) from shop.products)), 1 + floor(random() * 5), 100 + floor(random() * 9900)
from shop.orders o, generate_series(1, 3) n
where n = 1 or random() < 0.5;

insert into shop.discontinued (product_id) select id from shop.products where id % 25 = 0;

analyze shop.customers, shop.products, shop.orders, shop.order_lines, shop.discontinued;
